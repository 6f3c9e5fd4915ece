package text

// names are the English names of the languages.
var names = [Languages]string{
	English: "English", Arabic: "Arabic", Danish: "Danish", Dutch: "Dutch", Finnish: "Finnish", French: "French", German: "German",
	Hungarian: "Hungarian", Irish: "Irish", Italian: "Italian", Norwegian: "Norwegian", Portuguese: "Portuguese", Romanian: "Romanian",
	Russian: "Russian", Spanish: "Spanish", Swedish: "Swedish", Turkish: "Turkish", Vietnamese: "Vietnamese", Plain: "Any other language",
}

// Code returns the code of the language in ISO 639-1, and und (undetermined) for Plain.
func (l Language) Code() string {
	switch l {
	case English:
		return "en"
	case Vietnamese:
		return "vi"
	case Plain:
		return "und"
	default:
		return foreign[l].file
	}
}

// Name returns the English name of the language.
func (l Language) Name() string { return names[l] }

// Stems reports whether inflected words of the language are found by their stem.
func (l Language) Stems() bool { return l < stemmed }

var byCode = func() map[string]Language {
	m := make(map[string]Language, Languages)
	for l := range Languages {
		m[l.Code()] = l
	}
	return m
}()

// LanguageOf returns the language with a code. ok is false if there is none.
func LanguageOf(code string) (l Language, ok bool) {
	l, ok = byCode[code]
	return l, ok
}
