package textfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/search/textfile"
	"keepsake/internal/testing/testtier"
)

// wantFile reads a file of testdata, which another program has written, and compares its text without the blanks.
func wantFile(t *testing.T, name, title, text string) {
	t.Helper()
	f, err := textfile.Read(t.Context(), filepath.Join("testdata", name))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if got := strings.Join(strings.Fields(f.Text), " "); f.Title != title || got != text {
		t.Errorf("%s: got %q %q", name, f.Title, got)
	}
}

// letter.docx was written by python-docx.
func TestADOCXOfAnotherProgram(t *testing.T) {
	t.Parallel()
	wantFile(t, "letter.docx", "Letter to the tenants",
		"# Letter to the tenants The lift is repaired on Tuesday. ## Stairs Use the back stairs. Bring no bicycles. Floor Hours")
}

func TestAPageOfAnotherProgram(t *testing.T) {
	t.Parallel()
	// As Microsoft Word writes it: with a character set, styles and namespaces of its own.
	f, err := read(t, "word.htm", "<html xmlns:o=\"urn:schemas-microsoft-com:office:office\"><head><meta http-equiv=Content-Type content=\"text/html; charset=windows-1252\">"+
		"<title>Gr\xfc\xdfe</title><style>p.MsoNormal {margin:0}</style></head><body lang=DE><p class=MsoNormal>Viele Gr\xfc\xdfe aus K\xf6ln<o:p></o:p></p></body></html>")
	if err != nil || f.Title != "Grüße" || f.Text != "Viele Grüße aus Köln" {
		t.Errorf("got %q %q, %v", f.Title, f.Text, err)
	}
}

// report.pdf and locked.pdf, which has a password, were written by ReportLab, and timetable.pdf by WeasyPrint.
func TestPDF(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts pdftotext")
	if _, err := exec.LookPath("pdftotext"); err != nil {
		testtier.Missing(t, "pdftotext")
	}
	wantFile(t, "report.pdf", "Heating report",
		"Heating report The boiler was bled before the first frost — at 7 °C. The second page names the valve Größe 12.")
	wantFile(t, "timetable.pdf", "Ferry timetable", "Ferry timetable The ferry to Iona leaves at eight. Day Hour Monday 8:00")
	if _, err := textfile.Read(t.Context(), "testdata/locked.pdf"); err == nil || !strings.Contains(err.Error(), "encrypted with a password") {
		t.Errorf("a PDF with a password: %v", err)
	}
	whole, err := os.ReadFile("testdata/report.pdf")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"half": string(whole[:len(whole)/4]), "nothing": "", "no PDF": "%PDF-1.7\nnothing"} {
		if f, err := read(t, "a.pdf", content); err == nil || !strings.Contains(err.Error(), "pdftotext could not read it") || len(err.Error()) > 1_200 {
			t.Errorf("%s: got %q, %v", name, f.Text, err)
		}
	}
}
