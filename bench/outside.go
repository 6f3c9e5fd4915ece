package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	keepsake "keepsake/client"
	"keepsake/internal/web/api"
)

// measureOutside measures the built program from outside. Each server is a process with GOMAXPROCS=1 on the first core, the
// clients are this process on the second core, and all servers take turns. The program runs like `keepsake serve` without the
// log line for each request. It is compared with handlers that send the body and the headers of one of its responses, behind
// a server with the same timeouts. With -programs, it is also compared with other builds.
func measureOutside(c contest, dir string, builds []string) error {
	if out, err := exec.Command("taskset", "-a", "-c", "-p", "1", strconv.Itoa(os.Getpid())).CombinedOutput(); err != nil {
		fmt.Printf("The clients share the servers' core: %v %s", err, out)
	}
	var programs []*program
	for i, path := range builds {
		p, err := startProgram(path, filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			return fmt.Errorf("start %s: %w", path, err)
		}
		defer p.stop()
		if err := p.fill(); err != nil {
			return fmt.Errorf("fill %s: %w", path, err)
		}
		programs = append(programs, p)
	}
	for _, o := range []operation{
		{method: "GET", path: "/api/v1/health"},
		{method: "GET", path: "/api/v1/developer/api-keys/{id}/limits"},
		{method: "GET", path: "/api/v1/search?q=harbour+lantern&limit=10", searches: true},
		{method: "GET", path: "/api/v1/documents?limit=50"},
		{method: "POST", path: "/api/v1/memories/recall", body: `{"subjectId":"bench","query":"what did the doctor say about the train"}`},
	} {
		if err := c.outside(programs, dir, o); err != nil {
			return fmt.Errorf("%s %s: %w", o.method, o.path, err)
		}
	}
	return nil
}

// operation is the request of the clients.
type operation struct {
	method, path, body string
	searches           bool
}

// withBuilds gives a measurement a temporary folder and the programs to measure.
func withBuilds(measure func(c contest, dir string, builds []string) error) func(contest) error {
	return func(c contest) error {
		dir, err := os.MkdirTemp("", "keepsake-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		builds, err := c.builds(dir)
		if err != nil {
			return err
		}
		return measure(c, dir, builds)
	}
}

// builds returns the programs to measure. Without -programs, it builds the present one into dir.
func (c contest) builds(dir string) ([]string, error) {
	if len(c.programs) > 0 {
		return c.programs, nil
	}
	path := filepath.Join(dir, "keepsake")
	if out, err := exec.Command("go", "build", "-o", path, "keepsake/cmd/keepsake").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the program: %w: %s", err, out)
	}
	return []string{path}, nil
}

// outside compares the servers for one operation.
func (c contest) outside(programs []*program, dir string, o operation) error {
	var sides []side
	for i, p := range programs {
		name := "keepsake"
		if i > 0 {
			name = p.path
		}
		sides = append(sides, p.side(name, o))
	}
	s, err := programs[0].sample(o)
	if err != nil {
		return err
	}
	same, err := startSame(s, dir)
	if err != nil {
		return err
	}
	defer same.stop()
	sides = append(sides, same.side("same body and headers", o))
	if o.searches {
		s.Search = true
		alone, err := startSame(s, dir)
		if err != nil {
			return err
		}
		defer alone.stop()
		sides = append(sides, alone.side("the search alone, same headers", o))
		c.length *= 4 // a search takes as long as a dozen other requests
	}
	return c.run(o.method+" "+o.path+", from outside", sides...)
}

// process is a server in its own process.
type process struct {
	cmd     *exec.Cmd
	address string
}

// onFirstCore returns the command of a server.
func onFirstCore(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	if pin, err := exec.LookPath("taskset"); err == nil {
		cmd = exec.Command(pin, append([]string{"-c", "0", path}, args...)...)
	}
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	return cmd
}

func (p *process) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func (p *process) side(name string, requests ...[]byte) side {
	return side{name: name, running: &running{at: []string{p.address}, each: requests, cpu: p.cpu}}
}

// cpu returns the CPU time of the process; 0 if the system does not report it in nanoseconds.
func (p *process) cpu() time.Duration { return cpuOf(p.cmd.Process.Pid) }

func cpuOf(pid int) (total time.Duration) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseInt(first, 10, 64)
		total += time.Duration(ns)
	}
	return total
}

// program is a running build of the program.
type program struct {
	process
	path, key, keyID string
	backend          string // address of the backend listener
	client           *keepsake.Client
	said             bytes.Buffer // output; read it after stop
}

// startProgram creates an instance whose tier refuses no request of the measurement. It runs on the first core.
func startProgram(path, dir string) (*program, error) { return startOn(onFirstCore, path, dir) }

// startOn is startProgram with a command of the caller's choice and further variables of the environment.
func startOn(command func(path string, args ...string) *exec.Cmd, path, dir string, env ...string) (_ *program, err error) {
	printed, err := exec.Command(path, "init", "--data", dir, "--json").Output()
	if err != nil {
		return nil, fmt.Errorf("init: %w", err)
	}
	var first struct {
		APIKey string `json:"apiKey"`
	}
	if err := json.Unmarshal(printed, &first); err != nil {
		return nil, fmt.Errorf("init: %w", err)
	}
	p := &program{path: path, key: first.APIKey}
	if p.address, err = freeAddress(); err != nil {
		return nil, err
	}
	if p.backend, err = freeAddress(); err != nil {
		return nil, err
	}
	p.cmd = command(path, "serve", "--data", dir, "--listen", p.address, "--backend-listen", p.backend)
	p.cmd.Env = append(append(p.cmd.Env, "KEEPSAKE_LOG_REQUESTS=false"), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.stop()
			err = fmt.Errorf("%w\n%s", err, p.said.Bytes())
		}
	}()
	return p, p.ready()
}

// ready waits until the program serves, and raises its tier.
func (p *program) ready() (err error) {
	ctx := context.Background()
	if p.client, err = keepsake.New("http://"+p.address, p.key); err != nil {
		return err
	}
	self, err := p.client.WhoAmI(ctx)
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); self, err = p.client.WhoAmI(ctx) {
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("wait for the program: %w", err)
	}
	p.keyID = self.ID
	if _, err := p.client.ChangeTier(ctx, self.Workspace.Tier, keepsake.TierNumbers{RequestsPerMinute: 1e9, Daily: 1e10, Monthly: 1e11}, nil); err != nil {
		return fmt.Errorf("raise the tier: %w", err)
	}
	return nil
}

// fill writes documents and memories.
func (p *program) fill() error {
	ctx, c := context.Background(), p.client
	var lines bytes.Buffer
	random := rand.New(rand.NewPCG(1, 2))
	for range documents {
		line, err := json.Marshal(map[string]string{"title": sentence(random, 5), "text": sentence(random, 80)})
		if err != nil {
			return err
		}
		lines.Write(append(line, '\n'))
	}
	if done, err := c.ImportDocuments(ctx, &lines, nil); err != nil || done.Failed > 0 {
		return fmt.Errorf("import documents: %v, %w", done, err)
	}
	if _, err := c.Search(ctx, keepsake.Query{Q: "harbour"}); err != nil { // waits until all of them are indexed
		return fmt.Errorf("wait for the index: %w", err)
	}
	memories := make([]keepsake.NewMemory, 1_000)
	for i := range memories {
		memories[i] = keepsake.NewMemory{SubjectID: "bench", Text: remark(random), Tags: []string{"bench"}}
	}
	if _, err := c.CreateMemories(ctx, memories, false); err != nil {
		return fmt.Errorf("write memories: %w", err)
	}
	return nil
}

func (p *program) target(o operation) string { return strings.Replace(o.path, "{id}", p.keyID, 1) }

func (p *program) side(name string, o operation) side {
	return p.process.side(name, request(o.method, p.target(o), o.body, "X-API-Key: "+p.key, "User-Agent: bench/1.0"))
}

// recorded is a response that another handler sends, too.
type recorded struct {
	Header http.Header
	Body   []byte
	Search bool // the body is that of the same search
}

// sample records a response of the program.
func (p *program) sample(o operation) (*recorded, error) {
	r, err := http.NewRequest(o.method, "http://"+p.address+p.target(o), strings.NewReader(o.body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("X-Api-Key", p.key)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	w := httptest.NewRecorder()
	if _, err := w.Body.ReadFrom(response.Body); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d: %s", response.StatusCode, w.Body)
	}
	header := response.Header
	header.Del("Date") // net/http adds it, and the length of a short body
	if w.Body.Len() < 2048 {
		header.Del("Content-Length")
	}
	return &recorded{Header: header, Body: w.Body.Bytes()}, nil
}

// same is a process that sends a sample.
type same struct{ process }

func (p *same) side(name string, o operation) side {
	return p.process.side(name, request(o.method, o.path, o.body, "X-API-Key: "+strings.Repeat("x", 41), "User-Agent: bench/1.0"))
}

// sampleEnv is the environment variable with the file of the sample.
const sampleEnv = "KEEPSAKE_BENCH_SAMPLE"

// startSame starts this program again to send a sample.
func startSame(s *recorded, dir string) (*same, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "sample.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &same{process{cmd: onFirstCore(self)}}
	p.cmd.Env = append(p.cmd.Env, sampleEnv+"="+file)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := fmt.Fscanln(out, &p.address); err != nil {
		p.stop()
		return nil, fmt.Errorf("serve a sample: %w", err)
	}
	return p, nil
}

// serveSample sends the sample in a file until it is killed.
func serveSample(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s recorded
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), s.Header)
		_, _ = w.Write(s.Body)
	})
	if s.Search {
		dir, err := os.MkdirTemp(filepath.Dir(file), "library-")
		if err != nil {
			return err
		}
		found, err := library(context.Background(), dir)
		if err != nil {
			return err
		}
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			maps.Copy(w.Header(), s.Header)
			found.ServeHTTP(w, r)
		})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return api.NewServer(h, slog.New(slog.DiscardHandler)).Serve(l)
}

// freeAddress returns an address on which no process listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), errors.Join(l.Close())
}
