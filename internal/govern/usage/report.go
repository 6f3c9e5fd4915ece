package usage

import (
	"context"
	"time"
)

// ReportMemory is how long the ID of a report is remembered.
const ReportMemory = 7 * 24 * time.Hour

// Report is usage of an API key that another service has counted.
type Report struct {
	ID        [16]byte  // identifies it in the instance
	Cell      Cell      // of its requests; Charged is 0
	ChargedAt time.Time // the time that its charge counts for (limit.Receipt.At); it charges one for each request
}

// ReportStore stores reports.
type ReportStore interface {
	// AddReports adds the reports whose ID was not added within ReportMemory before at: the IDs, the requests and the charges,
	// in one transaction, so that a report that is sent again counts once. The IDs in list differ. Before the commit, it calls
	// added with the positions of these reports in list, in ascending order. It can call added more than once; the last call
	// counts if AddReports succeeds, and none if it fails.
	AddReports(ctx context.Context, at time.Time, list []Report, added func(positions []int)) error
}
