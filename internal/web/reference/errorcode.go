package reference

import (
	"keepsake/internal/base/problem"
	"keepsake/internal/web/endpoint"
)

// errorCode is a code with its status.
type errorCode struct {
	problem.Code
	Status int
}

func errorCodes() []errorCode {
	list := make([]errorCode, 0, len(problem.Codes))
	for _, c := range problem.Codes {
		list = append(list, errorCode{c, endpoint.StatusOf(c.Name)})
	}
	return list
}

// codesByStatus returns the codes of an operation by status, in the order of the error page.
func codesByStatus(names []string) map[int][]string {
	list := map[int][]string{}
	for _, c := range errorCodes() {
		for _, name := range names {
			if name == c.Name {
				list[c.Status] = append(list[c.Status], name)
			}
		}
	}
	return list
}
