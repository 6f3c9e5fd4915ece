package reference

import (
	"cmp"
	"strconv"
	"strings"

	"keepsake/internal/base/problem"
)

// credentials says what an operation accepts. The name of the scope follows.
func credentials(op *operation) string {
	text := "No credential"
	switch {
	case op.Keys && op.Tokens:
		text = "API key or access token"
	case op.Keys && op.Secret:
		return "The backend secret, or an API key with the scope "
	case op.Keys:
		text = "API key"
	case op.Tokens:
		text = "Access token"
	}
	if op.Scope != "" {
		text += ", with the scope "
	}
	return text
}

func parameterTitle(in string) string {
	switch in {
	case "path":
		return "In the path"
	case "query":
		return "In the query"
	default:
		return "Headers"
	}
}

func parametersIn(op *operation, in string) []field {
	var list []field
	for _, p := range op.Parameters {
		if p.In == in {
			list = append(list, p.field)
		}
	}
	return list
}

// plural counts things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// curl returns a request as a command for a shell, with the required parameters. The script replaces it while a form is filled in.
func curl(op *operation) string {
	var b strings.Builder
	b.WriteString("curl")
	if op.Method != "GET" {
		b.WriteString(" -X " + op.Method)
	}
	target := cmp.Or(op.Server, "$KEEPSAKE_URL") + op.Path
	for _, p := range op.Parameters {
		if p.In == "query" && p.Required {
			joint := "?"
			if strings.Contains(target, "?") {
				joint = "&"
			}
			target += joint + p.Name + "={" + p.Name + "}"
		}
	}
	b.WriteString(` "` + target + `"`)
	switch {
	case op.Keys:
		b.WriteString(" \\\n  -H \"X-API-Key: $KEEPSAKE_KEY\"")
	case op.Tokens:
		b.WriteString(" \\\n  -H \"Authorization: Bearer $TOKEN\"")
	}
	if len(op.Media) > 0 {
		b.WriteString(" \\\n  -H 'Content-Type: " + op.Media[0] + "'")
		if op.BodyExamples[0] == "" {
			b.WriteString(" \\\n  --data-binary @FILE")
		} else {
			b.WriteString(" \\\n  -d '" + strings.ReplaceAll(op.BodyExamples[0], "'", `'\''`) + "'")
		}
	}
	return b.String()
}

// issues returns the reasons of validation errors.
func issues() []problem.IssueText { return problem.Issues }
