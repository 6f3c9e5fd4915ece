package console

import (
	"errors"
	"io"
	"net/http"

	"keepsake/client"
	"keepsake/internal/web/rowimport"
)

// importPath is the page that imports documents.
const importPath = "/console/documents/import"

// importData is what the import shows.
type importData struct {
	Mapping *mappingForm           // of the file that was looked at; nil: none
	Result  *client.DocumentImport // nil before an import
	Kept    []client.ImportIssue   // of rows that were stored
	Into    string                 // the collection of rows that name none
	Message string
}

func importForm(v *visit) response {
	if !v.can("write") {
		return v.lacks("write")
	}
	return show(importPage(importData{}))
}

// previewImport shows what the first rows of a file become. A script sends only the beginning of a long file.
func previewImport(v *visit) response {
	if !v.can("write") {
		return v.lacks("write")
	}
	v.Stream()
	in, err := uploaded(v)
	if err != nil {
		return previewed(v, http.StatusBadRequest, importData{Message: "Choose a file."})
	}
	form, err := lookAt(v, in)
	_, _ = io.Copy(io.Discard, in) // browsers show a response only after they have sent the file
	if err != nil {
		return fileRefused(v, err)
	}
	return previewed(v, http.StatusOK, importData{Mapping: form})
}

// previewed shows the mapping of a file.
func previewed(v *visit, status int, data importData) response {
	if v.isFragment() {
		return response{status: status, page: importMapping(data)}
	}
	return response{status: status, page: importPage(data)}
}

// fileRefused shows why a file cannot be read.
func fileRefused(v *visit, err error) response {
	file, ok := errors.AsType[*rowimport.FileError](err)
	if !ok || v.cut {
		return v.fail(err)
	}
	return previewed(v, http.StatusBadRequest, importData{Message: sentence(file.Error())})
}

// importDocuments imports an uploaded file while it arrives. The file can have any length: the client sends it to the API in
// parts. Without the fields of a mapping, it is guessed.
func importDocuments(v *visit) response {
	if !v.can("write") {
		return v.lacks("write")
	}
	v.Stream()
	in, err := uploaded(v)
	if err != nil {
		return v.imported(http.StatusBadRequest, importData{Message: "Choose a file."})
	}
	result, into, err := importFile(v, in)
	if err == nil {
		_, kept := rowimport.Separated(&result.Import)
		return v.imported(http.StatusOK, importData{Result: result, Kept: kept, Into: into})
	}
	_, _ = io.Copy(io.Discard, in) // browsers show a response only after they have sent the file
	if result == nil || result.Received == 0 {
		result = nil
	}
	if file, ok := errors.AsType[*rowimport.FileError](err); ok && !v.cut {
		data := importData{Result: result, Into: into, Message: sentence(file.Error())}
		if result != nil {
			data.Message += " " + stoppedText
		}
		return v.imported(http.StatusBadRequest, data)
	}
	if wrong, ok := errors.AsType[*mappingError](err); ok {
		return v.imported(http.StatusBadRequest, importData{Message: "Nothing was imported. " + wrong.Error()})
	}
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Status == http.StatusForbidden {
		return v.fail(err)
	}
	data := importData{Result: result, Into: into, Message: v.reason(e)}
	if result != nil {
		data.Message += " " + stoppedText
	}
	resp := v.imported(e.Status, data)
	resp.header = retryHeader(e)
	return resp
}

// importFile imports a file as the form says.
func importFile(v *visit, in io.Reader) (result *client.DocumentImport, into string, err error) {
	file, err := rowimport.Open(in, comma(v.form.Get("delimiter")))
	if err != nil {
		return nil, "", err
	}
	sent := sentMapping(v)
	guess, err := sent.guess(file)
	if err != nil {
		return nil, "", err
	}
	if guess.Lacking {
		return nil, "", lacksText
	}
	result, err = file.Import(v.Context(), v.api(), &guess, nil)
	return result, guess.Options.Into, err
}

// stoppedText says what an import that was stopped has done.
const stoppedText = "What is listed below was imported before. You can import the whole file again: documents with an ID are replaced, not stored twice."

// imported shows the result of an import.
func (v *visit) imported(status int, data importData) response {
	if v.isFragment() {
		return response{status: status, page: importResult(data)}
	}
	return response{status: status, page: importPage(data)}
}

// uploaded returns the file of a form, and adds the fields before it to v.form.
func uploaded(v *visit) (io.Reader, error) {
	v.Body = watchedBody{v.Body, v}
	parts, err := v.MultipartReader()
	if err != nil {
		return nil, err
	}
	if v.form == nil {
		v.form = map[string][]string{}
	}
	for left := int64(maxForm); ; {
		part, err := parts.NextPart()
		if err != nil {
			return nil, err
		}
		if part.FormName() == "file" && part.FileName() != "" {
			return part, nil
		}
		value, err := io.ReadAll(io.LimitReader(part, left+1))
		if err != nil {
			return nil, err
		}
		if left -= int64(len(value)); left < 0 {
			return nil, errors.New("the fields of the form are too long")
		}
		v.form.Add(part.FormName(), string(value))
	}
}
