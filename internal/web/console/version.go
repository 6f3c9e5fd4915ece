package console

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"keepsake/client"
)

// versionsData is what the list of versions shows.
type versionsData struct {
	Versions []client.VersionRecord
	Uses     map[string]client.VersionUse // in the last 30 days, by version; nil if the visitor cannot see them
	Lives    lives
}

func listVersions(v *visit) response {
	page, err := v.api().ListVersionRecords(v.Context(), client.VersionQuery{Limit: 200})
	if err != nil {
		return v.fail(err)
	}
	data := versionsData{Versions: page.Items, Lives: livesOf(page.Items, v.At())}
	if v.can("analytics:read") {
		used, err := v.api().VersionUsage(v.Context(), client.UsageQuery{Window: "30d", Filter: v.counted()})
		if err != nil {
			return v.fail(err)
		}
		data.Uses = map[string]client.VersionUse{}
		for _, u := range used {
			data.Uses[u.Version] = u
		}
	}
	return show(versionsPage(data))
}

// lives is a picture of the lives of versions.
type lives struct {
	From, To time.Time
	Now      string // its place, like those of stages
	Versions []life
}

// life is a row of the picture.
type life struct {
	Version string
	Stages  []stage
}

// stage is the time that a version spends in a state.
type stage struct {
	State    string
	From, To time.Time
	X, Width string // in parts of livesWidth
}

// livesWidth is the width of the picture. The page stretches it.
const livesWidth = 1000

// livesOf returns the picture of versions, from the first version to the last retirement, or to half a year from now.
func livesOf(versions []client.VersionRecord, now time.Time) lives {
	l := lives{From: now.AddDate(0, -1, 0), To: now.AddDate(0, 6, 0)}
	for _, v := range versions {
		if v.Since.Before(l.From) {
			l.From = v.Since
		}
		if v.RetiresAt != nil && v.RetiresAt.After(l.To) {
			l.To = *v.RetiresAt
		}
	}
	place := func(at time.Time) float64 { return livesWidth * float64(at.Sub(l.From)) / float64(l.To.Sub(l.From)) }
	l.Now = coordinate(place(now))
	for _, v := range versions {
		row := life{Version: v.Version.Version}
		add := func(state string, from time.Time, to *time.Time) {
			if to == nil {
				to = &l.To
			}
			if to.After(from) {
				row.Stages = append(row.Stages, stage{state, from, *to, coordinate(place(from)), coordinate(place(*to) - place(from))})
			}
		}
		add("active", v.Since, v.AnnouncedAt)
		if v.AnnouncedAt != nil && v.SunsetAt != nil {
			add("deprecated", *v.AnnouncedAt, v.SunsetAt)
			add("sunset", *v.SunsetAt, v.RetiresAt)
		}
		l.Versions = append(l.Versions, row)
	}
	return l
}

// versionData is what the page of a version shows.
type versionData struct {
	Version client.VersionRecord
	Lives   lives
	Callers []client.VersionCaller
	Names   map[string]string // of actors, by ID
	Since   string            // days within which a caller was seen
	Pages   pages             // of the callers
}

// callerPeriods are how far back the list of callers goes, in days.
var callerPeriods = []choice{{"30", "30 days"}, {"90", "90 days"}, {"400", "All"}}

func showVersion(v *visit) response {
	n, err := v.version()
	if err != nil {
		return v.fail(err)
	}
	query := v.URL.Query()
	number, _ := strconv.Atoi(n.Version.Version)
	data := versionData{Version: *n, Lives: livesOf([]client.VersionRecord{*n}, v.At()), Since: query.Get("days")}
	if !slices.ContainsFunc(callerPeriods, func(c choice) bool { return c.Value == data.Since }) {
		data.Since = "30"
	}
	days, _ := strconv.Atoi(data.Since)
	from := v.At().UTC().Truncate(24*time.Hour).AddDate(0, 0, -days) // the same for all pages of a list
	callers, err := v.api().ListVersionCallers(v.Context(), number, client.VersionCallerQuery{From: &from, NoConsole: !v.countsConsole(), Limit: 100, Cursor: query.Get("cursor")})
	if err != nil {
		return v.fail(err)
	}
	data.Callers = callers.Items
	data.Pages = v.pages(versionPath(n.Version.Version), url.Values{"days": {data.Since}, consoleParameter: {query.Get(consoleParameter)}}, callers.NextCursor)
	if data.Names, err = v.actorNames(); err != nil {
		return v.fail(err)
	}
	workspaces, err := v.workspaceNames()
	if err != nil {
		return v.fail(err)
	}
	maps.Copy(data.Names, workspaces)
	return show(versionPage(data))
}

// version reads the version that the path names.
func (v *visit) version() (*client.VersionRecord, error) {
	number, _ := strconv.Atoi(v.PathValue("n")) // the API has no version 0
	return v.api().VersionRecord(v.Context(), number)
}

func versionPath(number string) string { return "/console/versions/" + number }

// versionForm is the form of an action on a version.
type versionForm struct {
	formState
	Version   client.VersionRecord
	Next      string // the number of the version after it
	Sunset    string // a date
	Announced string // a date; empty: now
	Guide     string
	Key       string
	Until     string // how long a rehearsal lasts, in hours
	Keys      []client.APIKey
}

// read completes a form with the version that it is about.
func (f *versionForm) read(v *visit) error {
	n, err := v.version()
	if err != nil {
		return err
	}
	f.Version = *n
	number, _ := strconv.Atoi(n.Version.Version)
	f.Next = strconv.Itoa(number + 1)
	return nil
}

// again shows the form of a refused action again.
func (f *versionForm) again(v *visit, err error, page func(versionForm) response) response {
	if !f.refuse(v, err) {
		return v.fail(err)
	}
	if err := f.read(v); err != nil {
		return v.fail(err)
	}
	return refused(err, page(*f).page)
}

func releaseForm(v *visit) response {
	form := versionForm{formState: newForm()}
	if err := form.read(v); err != nil {
		return v.fail(err)
	}
	return releaseView(form)
}

func releaseView(f versionForm) response { return show(releasePage(f)) }

// releaseVersion releases the version after the one of the path, which announces its end.
func releaseVersion(v *visit) response {
	form := versionForm{formState: sentForm(v), Sunset: v.form.Get("sunset"), Announced: v.form.Get("announced"), Guide: v.form.Get("guide")}
	number, _ := strconv.Atoi(v.PathValue("n"))
	in := client.NewRelease{Version: number + 1, GuideURL: form.Guide}
	var err error
	if in.SunsetAt, err = v.date("sunset"); err != nil {
		return form.again(v, err, releaseView)
	}
	if in.AnnouncedAt, err = v.date("announced"); err != nil {
		return form.again(v, err, releaseView)
	}
	if _, err := v.api().ReleaseVersion(client.WithIdempotencyKey(v.Context(), form.Once), in); err != nil {
		return form.again(v, err, releaseView)
	}
	return done(versionPath(v.PathValue("n")), "released")
}

func changeVersionForm(v *visit) response {
	form := versionForm{formState: newForm()}
	if err := form.read(v); err != nil {
		return v.fail(err)
	}
	if at := form.Version.SunsetAt; at != nil {
		form.Sunset = at.UTC().Format(dateLayout)
	}
	if guide := form.Version.MigrationGuideURL; guide != nil && !strings.HasPrefix(*guide, "/") { // the field takes no path
		form.Guide = *guide
	}
	return changeVersionView(form)
}

func changeVersionView(f versionForm) response { return show(changeVersionPage(f)) }

// changeVersion moves the sunset of a version, or changes its guide. It sends only what differs.
func changeVersion(v *visit) response {
	form := versionForm{formState: sentForm(v), Sunset: v.form.Get("sunset"), Guide: v.form.Get("guide")}
	n, err := v.version()
	if err != nil {
		return v.fail(err)
	}
	at, err := v.date("sunset")
	if err != nil {
		return form.again(v, err, changeVersionView)
	}
	var change client.VersionChange
	if at != nil && (n.SunsetAt == nil || n.SunsetAt.UTC().Format(dateLayout) != form.Sunset) {
		change.SunsetAt = client.To(*at)
	}
	switch {
	case form.Guide == "":
		change.GuideURL = client.Cleared[string]()
	case n.MigrationGuideURL == nil || *n.MigrationGuideURL != form.Guide:
		change.GuideURL = client.To(form.Guide)
	}
	number, _ := strconv.Atoi(n.Version.Version)
	if _, err := v.api().ChangeVersion(v.Context(), number, change, nil); err != nil {
		return form.again(v, err, changeVersionView)
	}
	return done(versionPath(n.Version.Version), "version-saved")
}

// rehearsals are how long a rehearsal can last, in hours.
var rehearsals = []choice{{"1", "1 hour"}, {"24", "1 day"}, {"168", "7 days"}}

func rehearseForm(v *visit) response {
	return rehearse(v, versionForm{formState: newForm(), Key: v.URL.Query().Get("key"), Until: "1"}, nil)
}

// rehearse shows the form of a rehearsal, after an error if there was one.
func rehearse(v *visit, form versionForm, failed error) response {
	if err := form.read(v); err != nil {
		return v.fail(err)
	}
	page, err := v.api().ListAPIKeys(v.Context(), client.APIKeyQuery{State: "active", Limit: 200})
	if err != nil {
		return v.fail(err)
	}
	form.Keys = page.Items
	if failed != nil {
		return refused(failed, rehearsePage(form))
	}
	return show(rehearsePage(form))
}

func rehearseSunset(v *visit) response {
	form := versionForm{formState: sentForm(v), Key: v.form.Get("key"), Until: v.form.Get("until")}
	hours, err := strconv.Atoi(form.Until)
	if err != nil {
		return v.failed(http.StatusBadRequest, "Choose how long the rehearsal lasts.")
	}
	number, _ := strconv.Atoi(v.PathValue("n"))
	until := v.At().UTC().Truncate(time.Minute).Add(time.Duration(hours) * time.Hour)
	_, err = v.api().RehearseSunset(client.WithIdempotencyKey(v.Context(), form.Once), number, form.Key, until)
	if err == nil {
		return done(versionPath(v.PathValue("n")), "rehearsed")
	}
	if !form.refuse(v, err) {
		return v.fail(err)
	}
	return rehearse(v, form, err)
}

func retireForm(v *visit) response {
	form := versionForm{formState: newForm()}
	if err := form.read(v); err != nil {
		return v.fail(err)
	}
	return retireView(form)
}

func retireView(f versionForm) response { return show(retirePage(f)) }

func retireVersion(v *visit) response {
	form := versionForm{formState: sentForm(v)}
	number, _ := strconv.Atoi(v.PathValue("n"))
	if _, err := v.api().RetireVersion(client.WithIdempotencyKey(v.Context(), form.Once), number); err != nil {
		return form.again(v, err, retireView)
	}
	return done("/console/versions", "retired")
}
