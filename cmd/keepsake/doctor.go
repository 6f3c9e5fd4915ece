package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"keepsake/client"
	"keepsake/internal/app"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/base/folder"
	"keepsake/internal/base/serverurl"
	"keepsake/internal/store"
)

func doctorCommand(st *stage) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the settings, files and services of an instance", Args: noArguments,
		Long: "Checks settings, files, the database, Redis, OpenSearch and the running service, and prints what needs attention. It changes nothing.\n" +
			"The exit code is 1 if something is broken; warnings do not affect it.",
		Example: "  keepsake doctor --data /var/lib/keepsake",
	}
	t := targetFlags(st, cmd, "redisUrl", "listen", "publicUrl", "trustedProxies", "tls.cert", "tls.key")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		d := &diagnosis{Findings: []finding{}}
		address, _, err := t.remote()
		if err != nil {
			return err
		}
		if address == "" {
			cfg, err := t.settings.load()
			if err != nil {
				return err
			}
			if problem := kernelProblem(kernelRelease()); problem != "" {
				d.find(warning, "system", "%s", problem)
			}
			d.folder(cmd.Context(), cfg)
			// A server that runs knows its settings and listeners; those here can be others.
			if d.alone = !client.SocketAnswers(cmd.Context(), instance.SocketPath(cfg.Data)); d.alone {
				d.exposures(withoutDefaultListener(cfg))
			}
			if cfg.DatabaseURL != "" {
				d.servers(cmd.Context(), cfg, st.now)
			}
			if cfg.Search.OpenSearch.URL != "" {
				d.openSearch(cmd.Context(), &cfg)
			}
		} else { // only the address of a remote server is known
			d.exposures(&config.Config{PublicURL: address})
		}
		if d.worst() != broken { // an unusable folder would be reported twice
			d.service(cmd.Context(), t, address != "", st.now)
		}
		if asJSON {
			err = st.printJSON(d)
		} else {
			for _, f := range d.Findings {
				fmt.Fprintf(st.out, "%-8s %-12s %s\n", f.State, f.About, f.Text)
			}
		}
		if err == nil && d.worst() == broken {
			return errors.New("doctor: found problems")
		}
		return err
	}
	return cmd
}

// health is the state of one finding.
type health string

const (
	well    health = "ok"
	warning health = "warning"
	broken  health = "broken"
)

type finding struct {
	State health `json:"state"`
	About string `json:"about"`
	Text  string `json:"text"`
}

type diagnosis struct {
	Findings []finding `json:"findings"`

	instance string // its ID in a shared database, if there is one
	alone    bool   // no server runs on the folder, so this process opens it
}

func (d *diagnosis) find(state health, about, text string, args ...any) {
	d.Findings = append(d.Findings, finding{state, about, serverurl.Redact(fmt.Sprintf(text, args...))})
}

func (d *diagnosis) worst() health {
	worst := well
	for _, f := range d.Findings {
		if f.State == broken || worst == well {
			worst = f.State
		}
	}
	return worst
}

// folder checks the files. Of a database it reads only who created it.
func (d *diagnosis) folder(ctx context.Context, cfg config.Config) {
	info, err := os.Stat(cfg.Data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.find(broken, "data", "%s does not exist; `keepsake serve` or `keepsake init` creates it", cfg.Data)
		return
	case err != nil:
		d.find(broken, "data", "%v", err)
		return
	case !info.IsDir():
		d.find(broken, "data", "%s is not a folder", cfg.Data)
		return
	case !folder.Shared(info): // else exposures names it
		d.find(well, "data", "%s", cfg.Data)
	}
	d.space(cfg.Data)
	if err := instance.Examine(ctx, &cfg); err != nil {
		d.find(broken, "data", "%v", err)
		return
	}
	d.logs(cfg)
	d.masterKey(cfg)
	if path := instance.FirstStartPath(cfg.Data); exists(path) {
		d.find(warning, "first start", "%s still contains the first key and password; read and delete the file", path)
	}
}

// lowSpace is the free space below which doctor warns: databases also need room for their logs.
const lowSpace = 512 << 20

func (d *diagnosis) space(dir string) {
	free, err := folder.Free(dir)
	if err != nil {
		d.find(warning, "disk", "cannot tell the free space: %v", err)
		return
	}
	if free < lowSpace {
		d.find(warning, "disk", "only %s are free; writes are refused when the disk is full", sizeText(int64(free)))
		return
	}
	d.find(well, "disk", "%s are free", sizeText(int64(free)))
}

// logs warns about large write-ahead logs. A server that runs keeps them small unless another program reads the files.
func (d *diagnosis) logs(cfg config.Config) {
	for _, name := range []string{"main.db", "keys.db", "usage.db"} {
		info, err := os.Stat(filepath.Join(cfg.Data, name+"-wal"))
		if err == nil && info.Size() > store.LargeLog {
			d.find(warning, "disk", "%s-wal, the write-ahead log, has %s: end programs that read %[1]s, such as an open sqlite3 or a backup tool", name, sizeText(info.Size()))
		}
	}
}

func (d *diagnosis) masterKey(cfg config.Config) {
	path := instance.MasterKeyPath(cfg.Data)
	info, err := os.Stat(path)
	switch {
	case cfg.MasterKey != "":
		d.find(well, "master key", "given by a setting")
	case err != nil:
		d.find(broken, "master key", "%v; without it the data cannot be opened", err)
	case !folder.Shared(info): // else exposures names it
		d.find(well, "master key", "%s; no backup contains it, so keep a copy elsewhere", path)
	}
	replaced, _ := instance.MasterKeyFile(cfg.Data).ReplacedKeys()
	for _, old := range replaced {
		d.find(warning, "master key", "%s opens backups made before it was replaced; keep it elsewhere, and destroy it with the last of them", old)
	}
}

// exposures reports the files and settings that reveal data or secrets to others.
func (d *diagnosis) exposures(cfg *config.Config) {
	for _, e := range app.Exposures(cfg) {
		d.find(warning, e.About, "%s", e.Text)
	}
}

// withoutDefaultListener returns the settings without the address of the API if that is the default: the server that will use
// the folder can get another one, and warns itself.
func withoutDefaultListener(cfg config.Config) *config.Config {
	if cfg.Listen == config.Default().Listen {
		cfg.Listen = ""
	}
	return &cfg
}

// service checks the running program. If none is running, it starts one for the check.
func (d *diagnosis) service(ctx context.Context, t *target, remote bool, now func() time.Time) {
	alone := ""
	if d.alone {
		alone = "; no server runs on this folder"
	}
	err := t.with(ctx, func(c *client.Client) error {
		h, err := c.Health(ctx)
		if err != nil {
			return err
		}
		if h.Status != "healthy" {
			d.find(warning, "service", "says it is %s%s", h.Status, d.failing(ctx, c, remote))
		} else {
			d.find(well, "service", "healthy, API version %s%s", h.Version, alone)
		}
		if skew := now().Sub(h.Timestamp).Abs(); skew > 5*time.Second {
			d.find(warning, "clock", "differs from the server's by %s", skew.Round(time.Second))
		}
		if remote { // only the socket serves warnings
			return nil
		}
		if err := d.indexes(ctx, c); err != nil {
			return err
		}
		if err := d.listeners(ctx, c); err != nil {
			return err
		}
		list, err := c.Warnings(ctx)
		for _, w := range list {
			d.find(warning, w.About, "%s (last at %s)", w.Text, w.At.Format(time.RFC3339))
		}
		return err
	})
	if err != nil {
		d.find(broken, "service", "%v", err)
	}
}

// failing names the parts that do not work, where the caller can ask for them.
func (d *diagnosis) failing(ctx context.Context, c *client.Client, remote bool) string {
	if remote {
		return ""
	}
	stats, err := c.CacheStats(ctx)
	if err != nil {
		return ""
	}
	var names []string
	for _, p := range stats.Parts {
		if p.Status == "degraded" || p.Status == "failed" {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// listeners checks that the listeners of the running server accept connections.
func (d *diagnosis) listeners(ctx context.Context, c *client.Client) error {
	list, err := c.Listeners(ctx)
	if err != nil {
		return err
	}
	dialer := net.Dialer{Timeout: 3 * time.Second}
	for _, l := range list {
		network, address := "unix", ""
		if path, ok := config.SocketPath(l.URL); ok {
			address = path
		} else {
			u, err := url.Parse(l.URL)
			if err != nil {
				return fmt.Errorf("read the address of a listener: %w", err)
			}
			network, address = "tcp", u.Host
		}
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			d.find(broken, "listener", "%s at %s accepts no connections: %v", l.Name, l.URL, err)
			continue
		}
		conn.Close()
		d.find(well, "listener", "%s at %s", l.Name, l.URL)
	}
	return nil
}

// maxLag is the number of changes from which on searches have to wait for their index.
const maxLag = 5_000

// indexes reports on the search indexes.
func (d *diagnosis) indexes(ctx context.Context, c *client.Client) error {
	stats, err := c.CacheStats(ctx)
	if err != nil {
		return err
	}
	n := &stats.SearchIndexes
	state := well
	if n.LagChanges > maxLag {
		state = warning
	}
	d.find(state, "search", "indexes held: %d, with %d documents in %s of files and %s of memory, and %d deleted ones in files; %d changes behind, %d merges",
		n.Held, n.Documents, sizeText(n.FileBytes), sizeText(n.MemoryBytes), n.DeadDocuments, n.LagChanges, n.Merges)
	if n.Building > 0 {
		d.find(well, "search", "indexes being built: %d, with %d of %d documents", n.Building, n.BuildingDone, n.BuildingAll)
	}
	if n.DiskBudget > 0 && n.FileBytes > n.DiskBudget {
		d.find(warning, "search", "the index that was searched last is kept although search.diskBudget is smaller (%s)", sizeText(n.DiskBudget))
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
