package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	keepsake "keepsake/client"
)

// measureForward measures forward authentication with nginx: the latency that it adds and, next to nginx's own limit_req in
// front of the same service, the throughput. nginx has the configuration of deploy/forward-auth; the others differ from it only
// in what they check. The servers are processes on all cores, with the clients.
//
// The services are a Go program that searches 5,000 documents for each request, one that answers constantly, and a page that
// nginx sends by itself, which is the cheapest service possible, so with it the share of the check is the largest. The CPU time
// is that of all servers and of the clients, so other load on the machine changes it less than the throughput.
//
// A page of nginx that accepts every request takes Keepsake's place, too: no check by auth_request can be faster than that.
func measureForward(c contest, dir string, builds []string) error {
	binary, err := exec.LookPath("nginx")
	if err != nil {
		if binary = "/usr/sbin/nginx"; !exists(binary) {
			fmt.Println("\nforward: skipped, because nginx is not installed")
			return nil
		}
	}
	recipe, err := os.ReadFile("deploy/forward-auth/nginx.conf")
	if err != nil {
		return fmt.Errorf("run this from the root of the repository: %w", err)
	}
	p, err := startOn(exec.Command, builds[0], filepath.Join(dir, "data"), "KEEPSAKE_TRUSTED_PROXIES=127.0.0.1/32")
	if err != nil {
		return err
	}
	defer p.stop()
	requests, err := p.forwarded(c.clients)
	if err != nil {
		return err
	}
	constant, err := startSame(&recorded{Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte("constant\n")}, dir)
	if err != nil {
		return err
	}
	defer constant.stop()
	searching, err := startSame(&recorded{Header: http.Header{"Content-Type": {"application/json"}}, Search: true}, dir)
	if err != nil {
		return err
	}
	defer searching.stop()
	page, err := freeAddress()
	if err != nil {
		return err
	}
	for _, service := range []struct {
		name, address string
		same          *same
	}{{"a Go program that searches", searching.address, searching}, {"a Go program that answers constantly", constant.address, constant}, {"a page of nginx", page, nil}} {
		if err := c.forward(&gateway{
			binary: binary, recipe: string(recipe), dir: dir, program: p, same: service.same, page: page, service: service.address,
		}, service.name, requests); err != nil {
			return fmt.Errorf("in front of %s: %w", service.name, err)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// forwarded returns the requests of clients with an API key each.
func (p *program) forwarded(clients int) (requests [][]byte, err error) {
	for range clients {
		key, err := p.client.CreateAPIKey(context.Background(), keepsake.NewAPIKey{Name: "bench", Scopes: []string{"read"}})
		if err != nil {
			return nil, err
		}
		requests = append(requests, request("GET", "/?q=harbour+lantern", "", "X-API-Key: "+key.Key, "User-Agent: bench/1.0"))
	}
	return requests, nil
}

// gateway is an nginx in front of a service.
type gateway struct {
	binary, recipe, dir string
	program             *program
	same                *same  // the service, if it is a Go program
	page                string // address of the page that nginx sends by itself
	service             string // address of the service
}

// forward compares four servers of one nginx: with Keepsake, with limit_req, with a page that accepts all, and without a check.
func (c contest) forward(g *gateway, name string, requests [][]byte) error {
	var at [4]string
	for i := range at {
		var err error
		if at[i], err = freeAddress(); err != nil {
			return err
		}
	}
	front, err := g.start(at)
	if err != nil {
		return err
	}
	defer front.quit()
	var sides []side
	for i, name := range []string{"with Keepsake", "with limit_req", "with a page that accepts", "without a check"} {
		sides = append(sides, side{name: name, running: &running{at: at[i : i+1], each: requests, cpu: func() time.Duration {
			return cpuTime() + g.program.cpu() + g.serviceCPU() + front.cpu()
		}}})
	}
	fmt.Println("\nWith Keepsake nginx is to have at least 0.5 of its throughput with limit_req, and p99 is to grow by 2 ms at most.")
	if err := c.run("nginx in front of "+name, sides...); err != nil {
		return err
	}
	taken, err := c.waits(sides)
	if err != nil {
		return err
	}
	fmt.Printf("\none client alone, nginx in front of %s\n", name)
	bare := taken[len(taken)-1]
	for i, s := range sides {
		fmt.Printf("%26s  median %v, p99 %v of %d answers; added: median %v, p99 %v\n", s.name, quantile(taken[i], 0.5), quantile(taken[i], 0.99),
			len(taken[i]), quantile(taken[i], 0.5)-quantile(bare, 0.5), quantile(taken[i], 0.99)-quantile(bare, 0.99))
	}
	return nil
}

func (g *gateway) serviceCPU() time.Duration {
	if g.same == nil {
		return 0 // nginx counts it
	}
	return g.same.cpu()
}

// configuration returns the recipe with four servers: as it is, with limit_req, with a page that accepts all, and without a
// check.
func (g *gateway) configuration(at [4]string) (string, error) {
	begin, end := strings.Index(g.recipe, "    server {"), strings.LastIndex(g.recipe, "}")
	if begin < 0 || end < begin {
		return "", errors.New("the recipe has no server")
	}
	// nginx closes a connection after a number of requests, which the clients do not expect.
	with := strings.Replace(g.recipe[begin:end], "listen 8080;", "listen "+at[0]+"; keepalive_requests 1000000000;", 1)
	accepted := strings.NewReplacer(at[0], at[2], "http://keepsake/", "http://page/").Replace(with)
	limited := fmt.Sprintf(`
    limit_req_zone $http_x_api_key zone=keys:10m rate=1000000r/s;
    server {
        listen %s; keepalive_requests 1000000000; access_log off;
        location / {
            %%s
            proxy_pass http://service;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Request-Id $request_id;
        }
    }`, at[1])
	plain := strings.Replace(limited[strings.Index(limited, "    server {"):], at[1], at[3], 1)
	page := fmt.Sprintf(`
    upstream page {
        server %[1]s;
        keepalive 64;
    }
    server {
        listen %[1]s; keepalive_requests 1000000000; access_log off;
        location / { default_type text/plain; return 200 "constant\n"; }
    }
`, g.page)
	text := g.recipe[:begin] + with + accepted + fmt.Sprintf(limited, "limit_req zone=keys burst=1000000 nodelay;") + "\n" + fmt.Sprintf(plain, "") + page + "}\n"
	text = strings.NewReplacer("127.0.0.1:9000", g.service, "127.0.0.1:8081", g.program.backend).Replace(text)
	return strings.Replace(text, "http {", fmt.Sprintf("http {\nclient_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; "+
		"fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;", g.dir), 1), nil
}

// front is a running nginx.
type front struct{ cmd *exec.Cmd }

func (g *gateway) start(at [4]string) (*front, error) {
	text, err := g.configuration(at)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(g.dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	f := &front{exec.Command(g.binary, "-c", file, "-e", filepath.Join(g.dir, "error.log"), "-g", "daemon off; user root; pid "+filepath.Join(g.dir, "pid")+";")}
	f.cmd.Stderr = os.Stderr
	if err := f.cmd.Start(); err != nil {
		return nil, err
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", at[0])
		if err == nil {
			return f, conn.Close()
		}
		if time.Now().After(end) {
			f.quit()
			return nil, fmt.Errorf("wait for nginx: %w", err)
		}
	}
}

// cpu returns the CPU time of nginx and its workers.
func (f *front) cpu() time.Duration {
	pid := f.cmd.Process.Pid
	total := cpuOf(pid)
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for child := range strings.FieldsSeq(string(children)) {
		if n, err := strconv.Atoi(child); err == nil {
			total += cpuOf(n)
		}
	}
	return total
}

// quit stops nginx and its workers.
func (f *front) quit() {
	_ = f.cmd.Process.Signal(os.Interrupt)
	_ = f.cmd.Wait()
}
