package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"keepsake/client"
	"keepsake/internal/search/textfile"
	"keepsake/internal/web/rowimport"
)

// importJob is what `documents import` is asked to do.
type importJob struct {
	st        *stage
	client    *client.Client // nil for a dry run
	options   client.ImportOptions
	delimiter string
	files     bool
	dryRun    bool
	asJSON    bool
}

func documentsImportCommand(st *stage) *cobra.Command {
	j := &importJob{st: st}
	var text string
	cmd := &cobra.Command{
		Use: "import FILE|DIR|-", Short: "Import documents from JSON, CSV or text files", Args: oneArgument,
		Long: "Imports the rows of a file: JSON objects, one per line or in an array of any length, or a CSV with a first row of names.\n" +
			"The file can be compressed with gzip. `-` reads standard input; of a folder, all such files are imported. Rows in the form\n" +
			"{\"id\",\"collection\",\"title\",\"text\",\"url\",\"tags\",\"metadata\"} are stored as they are. Of others, the command guesses which\n" +
			"values are the ID, title, text, tags and URL, says so, and makes metadata of the rest. --dry-run shows what it would do,\n" +
			"and flags name what it should take instead. Values in nested objects have names with dots.\n\n" +
			"With --files, each file is a document: Markdown, HTML, text, DOCX, and PDF if pdftotext is installed. A text that is longer\n" +
			"than a document can be becomes several.\n\n" +
			"A document whose ID exists is replaced. A row without an ID gets one that follows from its content, so the same file can be\n" +
			"imported again. A row that is refused does not stop the others, but the exit code is 1.",
		Example: "  keepsake documents import articles.ndjson\n" +
			"  keepsake documents import products.csv --dry-run\n" +
			"  keepsake documents import products.csv.gz --id sku --text notes --into products --replace\n" +
			"  keepsake documents import handbook --files --into handbook",
	}
	t := targetFlags(st, cmd)
	flags := cmd.Flags()
	flags.StringVar(&j.options.ID, "id", "", "`NAME` of the value that is the ID")
	flags.StringVar(&j.options.Title, "title", "", "`NAME` of the value that is the title")
	flags.StringVar(&text, "text", "", "`NAMES`, separated by commas, of the values that are the text")
	flags.StringVar(&j.options.Tags, "tags", "", "`NAME` of the value with the tags: an array, or a text that parts them by |")
	address := flags.Lookup("url")
	address.Value, address.Usage = &addressOrName{address: &t.url, name: &j.options.URL},
		"`URL` of a running server, or the NAME of the value that is the URL of a document (repeatable)"
	cmd.PreRun = func(*cobra.Command, []string) { address.Changed = t.url != "" } // a name is no address, so it goes with --data
	flags.StringVar(&j.options.Collection, "collection", "", "`NAME` of the value that is the collection")
	flags.StringVar(&j.options.Into, "into", "", "collection `NAME` of the rows that have none")
	flags.StringVar(&j.options.Rest, "rest", "", "what becomes of other values: `WHAT` is metadata, drop or refuse (the row)")
	flags.BoolVar(&j.options.Replace, "replace", false, "delete the documents of the collection that are not in the file; needs the flag into")
	flags.StringVar(&j.delimiter, "delimiter", "", "`CHARACTER` between the cells of a CSV, or tab (default: as in its first row)")
	flags.BoolVar(&j.files, "files", false, "make a document of each file")
	flags.BoolVar(&j.dryRun, "dry-run", false, "only show the mapping and the first three documents")
	jsonFlag(cmd, &j.asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if text != "" {
			j.options.Text = strings.Split(text, ",")
		}
		if err := j.check(); err != nil {
			return err
		}
		if j.dryRun {
			return j.run(cmd.Context(), args[0])
		}
		return t.with(cmd.Context(), func(c *client.Client) error {
			j.client = c
			return j.run(cmd.Context(), args[0])
		})
	}
	return cmd
}

// addressOrName is the flag --url of an import, which has two meanings. An address has a scheme, and a name of a value has none.
type addressOrName struct{ address, name *string }

// String implements pflag.Value.
func (v *addressOrName) String() string {
	if v.address == nil {
		return ""
	}
	return *v.address
}

// Type implements pflag.Value.
func (*addressOrName) Type() string { return "string" }

// Set implements pflag.Value.
func (v *addressOrName) Set(text string) error {
	if strings.Contains(text, "://") {
		*v.address = text
	} else {
		*v.name = text
	}
	return nil
}

// check refuses flags that contradict each other.
func (j *importJob) check() error {
	o := &j.options
	mapped := o.ID != "" || o.Title != "" || len(o.Text) > 0 || o.Tags != "" || o.URL != "" || o.Collection != "" || o.Rest != ""
	switch {
	case o.Replace && o.Into == "":
		return usageError("--replace needs --into, whose documents it deletes")
	case o.Rest != "" && !slices.Contains([]string{"metadata", "drop", "refuse"}, o.Rest):
		return usageError("--rest is metadata, drop or refuse")
	case slices.Contains(o.Text, ""):
		return usageError("--text is a list of names, separated by commas")
	case j.files && (mapped || j.delimiter != ""):
		return usageError("--files cannot be combined with flags that name values of rows")
	case j.delimiter != "" && j.comma() == 0:
		return usageError("--delimiter is one ASCII character, or tab")
	}
	return nil
}

// comma returns the delimiter; 0 if there is none.
func (j *importJob) comma() byte {
	switch {
	case j.delimiter == "tab", j.delimiter == `\t`:
		return '\t'
	case len(j.delimiter) == 1 && j.delimiter[0] < 0x80 && !strings.Contains("\"\r\n\x00", j.delimiter):
		return j.delimiter[0]
	default:
		return 0
	}
}

func (j *importJob) run(ctx context.Context, name string) error {
	names, err := j.expand(name)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if j.files {
		return j.runFiles(ctx, name, names)
	}
	if j.options.Replace && len(names) > 1 {
		return fmt.Errorf("import: --replace takes one file, and %s has %d; otherwise each would delete the documents of the others", name, len(names))
	}
	total := &client.DocumentImport{}
	for _, one := range names {
		outcome, err := j.importFile(ctx, one)
		if outcome != nil {
			total.Received, total.Failed = total.Received+outcome.Received, total.Failed+outcome.Failed
			if err := j.report(outcome); err != nil {
				return err
			}
		}
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
	}
	return refusedLines(nil, &total.Import)
}

// rowFiles are the names of files with rows.
var rowFiles = []string{".json", ".ndjson", ".jsonl", ".csv", ".tsv"}

// expand returns the files to import.
func (j *importJob) expand(name string) ([]string, error) {
	if name == "-" {
		if j.files {
			return nil, errors.New("--files needs the name of a file or folder")
		}
		return []string{name}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	known, hint := func(path string) bool {
		return slices.Contains(rowFiles, strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz"))))
	}, "JSON or CSV; add --files for Markdown, HTML, text, DOCX and PDF"
	if j.files {
		known, hint = textfile.Known, "Markdown, HTML, text, DOCX or PDF"
	}
	var names []string
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != name && strings.HasPrefix(entry.Name(), "."): // of version control, of editors
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.Type().IsRegular() && known(path):
			names = append(names, path)
		}
		return nil
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s has no file of %s", name, hint)
	}
	return names, err
}

// importFile imports the rows of a file. The outcome is nil if nothing was sent.
func (j *importJob) importFile(ctx context.Context, name string) (*client.DocumentImport, error) {
	in, size, err := j.st.openInput(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	counted := &countingReader{in: in}
	file, err := rowimport.Open(counted, j.comma())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	guess, err := file.Guess(j.options)
	if err == nil && guess.Lacking {
		err = fmt.Errorf("name the value that is the title or the text with --title or --text; the first rows have %s", namesOf(file))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !guess.Plain && !j.asJSON {
		fmt.Fprintf(j.st.out, "%s: %s\n", plain(name), rowimport.Command(guess.Options, plain))
	}
	if j.dryRun {
		return nil, j.show(file, &guess)
	}
	progress, done := j.st.importBar(size, !j.asJSON && j.st.errTTY)
	defer done()
	report := func() {
		if progress != nil {
			progress(counted.n)
		}
	}
	outcome, err := file.Import(ctx, j.client, &guess, report)
	if errors.Is(err, client.ErrTooManyRows) {
		return nil, fmt.Errorf("%w, which is what --replace can take; import the file without it", err)
	}
	return outcome, err
}

// namesOf lists the names of the values of the first rows.
func namesOf(file *rowimport.File) string {
	var names []string
	for _, name := range file.Names() {
		if len(names) == 20 {
			names = append(names, "…")
			break
		}
		names = append(names, plain(name))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// show prints the first three documents of a file.
func (j *importJob) show(file *rowimport.File, guess *rowimport.Guess) error {
	documents, refused, _ := file.Preview(guess, 3)
	for _, r := range refused[:min(len(refused), shownErrors)] {
		fmt.Fprintf(j.st.err, "line %d: %s\n", r.Line, plain(r.Message))
	}
	return j.showDocuments(documents)
}

func (j *importJob) showDocuments(documents []client.NewDocument) error {
	if j.asJSON {
		return j.st.printJSON(items[client.NewDocument]{documents})
	}
	for i, d := range documents {
		if i > 0 {
			fmt.Fprintln(j.st.out)
		}
		j.st.printRecord(
			field{"id", cmp.Or(d.ID, "(follows from the content)")}, field{"collection", cmp.Or(d.Collection, "default")},
			field{"title", oneLine(d.Title)}, field{"text", shortText(d.Text)}, field{"url", cmp.Or(d.URL, "none")},
			field{"tags", listText(d.Tags)}, field{"metadata", shortText(metadataText(d.Metadata))},
		)
	}
	return nil
}

// shortText returns the beginning of a text in one line.
func shortText(text string) string {
	const longest = 200
	line := []rune(oneLine(text))
	if len(line) > longest {
		return string(line[:longest]) + "…"
	}
	return string(line)
}

// countingReader counts what is read.
type countingReader struct {
	in io.Reader
	n  int64
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	r.n += int64(n)
	return n, err
}

// report prints the outcome of an import.
func (j *importJob) report(i *client.DocumentImport) error {
	if j.asJSON {
		return j.st.printJSON(i)
	}
	deleted := ""
	if j.options.Replace {
		deleted = fmt.Sprintf(", %d deleted", i.Deleted)
	}
	fmt.Fprintf(j.st.out, "%d lines: %d created, %d replaced%s, %d refused\n", i.Received, i.Created, i.Replaced, deleted, i.Failed)
	refused, kept := rowimport.Separated(&i.Import)
	printRefusals(j.st.out, refused)
	for _, issue := range kept[:min(len(kept), shownErrors)] {
		fmt.Fprintln(j.st.out, "  "+plain(rowimport.KeptText(issue)))
	}
	return nil
}
