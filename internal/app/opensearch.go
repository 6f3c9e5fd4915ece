package app

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/base/metrics"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/search"
	"keepsake/internal/search/opensearch"
	v1 "keepsake/internal/web/api/v1"
)

// remoteSearch keeps the search indexes of some workspaces in OpenSearch.
type remoteSearch struct {
	client   *opensearch.Client
	prefix   string
	accounts *account.Directory
	follower *opensearch.Follower
	mover    *opensearch.Mover
	cluster  *opensearch.Cluster
	now      func() time.Time
	patience time.Duration // of a probe

	tried   triedProbe
	reached atomic.Pointer[reached] // what came of the last attempt; nil: none has ended
}

// reached is what came of an attempt to reach the cluster.
type reached struct {
	version string    // the last one that was read; empty: none
	err     error     // why the cluster cannot be used
	since   time.Time // when that began
}

// after returns what came of the next attempt.
func (r *reached) after(version string, err error, at time.Time) *reached {
	next := &reached{version, err, at}
	if r != nil {
		next.version = cmp.Or(version, r.version)
		if opensearch.StateOf(err) == opensearch.StateOf(r.err) {
			next.since = r.since
		}
	}
	return next
}

// triedProbe keeps the result of a probe, which creates an index, for a while.
type triedProbe struct {
	mu sync.Mutex
	ok time.Time // the last success
}

// newRemoteSearch returns nil if no cluster is set.
func newRemoteSearch(
	i *instance.Instance, cfg *config.Config, deps *Deps, people *account.Service, accounts *account.Directory, indexer *search.Indexer,
	claims opensearch.Claims, background func(context.Context, func() error) error,
) (*remoteSearch, error) {
	o := &cfg.Search.OpenSearch
	if o.URL == "" {
		return nil, nil
	}
	client, err := searchClient(cfg, deps.Version)
	if err != nil {
		return nil, err
	}
	r := &remoteSearch{client: client, prefix: o.Prefix, accounts: accounts, now: deps.Now, patience: max(8*time.Second, deps.MinTimeout)}
	feed := search.NewFeed(i.Store.Documents, i.Store.Documents)
	r.follower = opensearch.NewFollower(opensearch.FollowerOptions{
		Client: client, Prefix: o.Prefix, Owner: i.ID, Source: feed, Claims: claims, Documents: i.Store.Documents.DocumentCount,
		Log: deps.Log, Now: time.Now, Background: background,
	})
	r.mover = opensearch.NewMover(opensearch.MoverOptions{
		Client: client, Prefix: o.Prefix, Follower: r.follower, Source: feed, Workspaces: r.places, Local: indexer,
		Stored: func(ctx context.Context) ([]opensearch.Placed, error) { return storedPlaces(ctx, i.Store.Accounts) },
		Serve: func(ctx context.Context, workspaceID string, engine opensearch.Engine) error {
			return people.SearchMoved(ctx, workspaceID, string(engine))
		},
		Alone: claims == nil, Log: deps.Log, Now: time.Now,
	})
	r.cluster = opensearch.NewCluster(client, opensearch.NewReadiness(client, o.Prefix, feed.State, deps.MinTimeout), r.reads)
	people.SearchEngine, people.SearchReady = cfg.Search.Engine, r.ready
	return r, nil
}

func searchClient(cfg *config.Config, release string) (*opensearch.Client, error) {
	o := &cfg.Search.OpenSearch
	client, err := opensearch.NewClient(opensearch.ClientOptions{
		URL: o.URL, User: o.User, Password: o.Password, PasswordFile: cfg.SecretFiles["search.opensearch.password"], CAFile: o.CAFile,
		Release: release,
	})
	if err != nil {
		return nil, &config.Error{Setting: "search.opensearch", Reason: err.Error()}
	}
	return client, nil
}

// ExamineOpenSearch reads the state of the cluster that the settings name, without changing it.
func ExamineOpenSearch(ctx context.Context, cfg *config.Config) (*opensearch.Facts, error) {
	client, err := searchClient(cfg, "")
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return client.Examine(ctx, cfg.Search.OpenSearch.Prefix)
}

// reads reports whether searches of a workspace read OpenSearch.
func (r *remoteSearch) reads(workspaceID string) bool {
	e, ok := r.accounts.Entry(workspaceID)
	return ok && e.Search().Reads == account.SearchOpenSearch
}

// left reports whether a workspace needs no index in this process: it has moved, and is not to move back.
func (r *remoteSearch) left(workspaceID string) bool {
	e, ok := r.accounts.Entry(workspaceID)
	return ok && e.Search() == account.SearchPlace{Engine: account.SearchOpenSearch, Reads: account.SearchOpenSearch}
}

// places lists the workspaces with the engines of their indexes.
func (r *remoteSearch) places() []opensearch.Placed {
	var list []opensearch.Placed
	for id, p := range r.accounts.SearchPlaces() {
		list = append(list, placed(id, p))
	}
	return list
}

// storedPlaces lists the workspaces as they are in the database.
func storedPlaces(ctx context.Context, accounts account.Store) ([]opensearch.Placed, error) {
	all, err := accounts.Workspaces(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]opensearch.Placed, len(all))
	for i := range all {
		list[i] = placed(all[i].ID, all[i].Search)
	}
	return list, nil
}

func placed(id string, p account.SearchPlace) opensearch.Placed {
	return opensearch.Placed{
		ID: id, Wanted: opensearch.Engine(cmp.Or(p.Engine, account.SearchLocal)), Serving: opensearch.Engine(cmp.Or(p.Reads, account.SearchLocal)),
	}
}

// probeFor is how long a cluster that was tried is taken to be good.
const probeFor = time.Minute

// ready returns why the cluster cannot have an index.
func (r *remoteSearch) ready(ctx context.Context) error {
	r.tried.mu.Lock()
	defer r.tried.mu.Unlock()
	if !r.tried.ok.IsZero() && time.Since(r.tried.ok) < probeFor {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	err := r.client.Probe(ctx, r.prefix)
	if err == nil {
		err = r.follower.Take(ctx)
	}
	if err == nil {
		r.tried.ok = time.Now()
		return nil
	}
	switch opensearch.StateOf(err) {
	case opensearch.NoScripts:
		err = problem.Conflicts("OpenSearch runs no scripts, which ranking needs: its settings script.allowed_types and " +
			"script.allowed_contexts must permit inline scripts for similarity and score.").Because(err)
	case opensearch.Foreign:
		err = problem.Conflicts("Another installation of Keepsake has the same search.opensearch.prefix. Give this one a prefix of its own.").Because(err)
	case opensearch.Unsupported:
		err = problem.Conflicts("search.opensearch.url is not the address of OpenSearch 2 or later.").Because(err)
	case opensearch.Denied:
		err = problem.Conflicts("OpenSearch refuses the user or the password, or the user may not create indexes.").Because(err)
	case opensearch.Refused:
		err = problem.Conflicts("OpenSearch refuses an index that Keepsake needs.").Because(err)
	default:
		err = problem.NotAvailable("OpenSearch is not available: "+string(opensearch.StateOf(err))+".", 5*time.Second).Because(err)
	}
	return err
}

// move describes the move of a workspace; nil: there is none.
func (r *remoteSearch) move(ctx context.Context, w *account.Workspace) *v1.SearchMove {
	p := placed(w.ID, w.Search)
	if p.Wanted == p.Serving {
		return nil
	}
	m := &v1.SearchMove{From: string(p.Serving)}
	if r == nil {
		return m
	}
	if percent, ok := r.mover.Percent(ctx, p); ok {
		m.Percent = &percent
	}
	return m
}

// run follows and moves workspaces until ctx ends.
func (r *remoteSearch) run(ctx context.Context) error {
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() { _ = r.follower.Run(ctx) }) // it returns no error
	following.Go(func() { r.watch(ctx) })
	return r.mover.Run(ctx)
}

// reachEvery is how often a process tries to reach the cluster, also if no workspace is there: then a move would fail, and this process
// can be cut off while another one follows.
const reachEvery = 5 * time.Second

// watch tries to reach the cluster until ctx ends.
func (r *remoteSearch) watch(ctx context.Context) {
	for ctx.Err() == nil {
		short, cancel := context.WithTimeout(ctx, reachEvery)
		version, err := r.follower.Reach(short)
		cancel()
		if ctx.Err() == nil {
			r.reached.Store(r.reached.Load().after(version, err, r.now()))
		}
		select {
		case <-ctx.Done():
		case <-time.After(reachEvery):
		}
	}
}

// err returns why this process does not reach the cluster now, or why searches or writes of a workspace do not.
func (r *remoteSearch) err(context.Context) error {
	if reached := r.reached.Load(); reached != nil && reached.err != nil {
		return fmt.Errorf("OpenSearch cannot be used: %w", reached.err)
	}
	for id, p := range r.follower.Progress() {
		if p.Here && p.State != opensearch.Healthy {
			return fmt.Errorf("the search index of workspace %s in OpenSearch is %s", id, p.State)
		}
	}
	return nil
}

func (r *remoteSearch) close(context.Context) error {
	r.client.Close()
	return nil
}

// addRemoteSearchMetrics adds the indexes in OpenSearch.
func (s *services) addRemoteSearchMetrics(r *metrics.Registry) {
	state := &metrics.Metric{
		Name: "keepsake_opensearch_workspaces", Type: metrics.Gauge, Labels: []string{"state"},
		Help: "Workspaces whose index in OpenSearch this process follows, by state.",
	}
	lag := &metrics.Metric{
		Name: "keepsake_opensearch_lag_changes", Type: metrics.Gauge,
		Help: "Changes of documents that are missing in the indexes in OpenSearch that this process follows.",
	}
	r.Add(func(_ context.Context, scrape *metrics.Scrape) {
		counts, behind := map[opensearch.State]int{}, int64(0)
		if s.search.remote != nil {
			for _, p := range s.search.remote.follower.Progress() {
				if p.Here {
					counts[p.State]++
					behind += max(0, p.Last-p.Position)
				}
			}
		}
		for _, known := range opensearch.States {
			scrape.Set(state, float64(counts[known]), string(known))
		}
		scrape.Set(lag, float64(behind))
	}, state, lag)
}
