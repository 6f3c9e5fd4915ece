package wire

import (
	"keepsake/internal/problem"
)

var (
	errEmpty   = problem.Validation("body", problem.Required, "A JSON body is required.")
	errTooDeep = problem.Validation("body", problem.Format, "The JSON is nested too deeply.")
)

// explain turns an error of the decoder into a 400.
func explain(err error, v any) error {
	return problem.Validation("body", problem.Format, "The body is not valid JSON.").Because(err)
}
