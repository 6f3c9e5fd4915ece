package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// fault is what happens while a mix of requests runs.
type fault struct {
	name string
	run  func() error // takes faultLength
}

func (s *scale) faults() []fault {
	return []fault{
		{"nothing fails", func() error {
			time.Sleep(*faultLength)
			return nil
		}},
		{"instances are killed and come back", s.killInstances},
		{"OpenSearch is killed", func() error {
			s.node.Kill()
			time.Sleep(*faultLength)
			s.node.Start(s)
			return nil
		}},
		{"OpenSearch hangs", func() error {
			s.node.Pause(s)
			time.Sleep(*faultLength)
			s.node.Resume(s)
			return nil
		}},
		{"OpenSearch's disk is full", s.fillDisk},
	}
}

// killInstances kills an instance, starts it again, and goes on with the next.
func (s *scale) killInstances() error {
	for i, end := 0, time.Now().Add(*faultLength); time.Now().Before(end); i = (i + 1) % len(s.members) {
		s.members[i].Kill()
		time.Sleep(3 * time.Second)
		s.again(i)
		time.Sleep(5 * time.Second) // the proxy sees that it is back
	}
	return nil
}

// fillDisk lets OpenSearch take its disk to be full: it then refuses writes to the indexes on it.
func (s *scale) fillDisk() error {
	const mark = "cluster.routing.allocation.disk.watermark."
	free := func(value any) error {
		return s.opensearch(http.MethodPut, "/_cluster/settings", map[string]any{"transient": map[string]any{
			mark + "low": value, mark + "high": value, mark + "flood_stage": value,
		}}, nil)
	}
	if err := free("1000000gb"); err != nil {
		return err
	}
	if err := s.blocked(true); err != nil {
		return err
	}
	time.Sleep(*faultLength)
	if err := free(nil); err != nil {
		return err
	}
	return s.blocked(false)
}

// blocked waits until OpenSearch refuses writes, or no longer does.
func (s *scale) blocked(want bool) error {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		var settings map[string]struct{ Settings map[string]string }
		err := s.opensearch(http.MethodGet, "/"+searchPrefix+"*/_settings/index.blocks.read_only_allow_delete?flat_settings=true", nil, &settings)
		if err != nil {
			return err
		}
		is := false
		for _, index := range settings {
			is = is || index.Settings["index.blocks.read_only_allow_delete"] == "true"
		}
		if is == want {
			return nil
		}
	}
	return fmt.Errorf("OpenSearch does not notice that its disk is full, or no longer is")
}

// opensearch sends a request to the node.
func (s *scale) opensearch(method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(method, s.node.URL+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %d %.300s", method, path, response.StatusCode, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// beside runs a mix while something fails, and until searches find everything again, and prints its outcomes.
func (s *scale) beside(f fault) error {
	fmt.Printf("\n%s, for %v; load %s\n", f.name, *faultLength, load())
	m := s.startMix()
	err := f.run()
	back := time.Duration(0)
	if err == nil {
		back, err = s.settled()
	}
	m.stop()
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	for kind, name := range kinds {
		m.kinds[kind].print(name)
	}
	for kind := range kinds {
		if text := m.kinds[kind].example(); text != "" && (kind >= smallSearch || m.kinds[kind].failed > 0) {
			fmt.Printf("%32s  %s: %.200s\n", "for example", kinds[kind], text)
		}
	}
	others := m.kinds[smallSearch].bad() + m.kinds[smallFound].bad() + m.kinds[smallWrite].bad()
	fmt.Printf("%32s  %d failed requests of the others; all was found again %v after the end\n", "goal 0:", others, back.Round(10*time.Millisecond))
	s.all = append(s.all, m.ledgers...)
	a, err := s.audit(m.ledgers)
	if err != nil {
		return fmt.Errorf("%s: audit: %w", f.name, err)
	}
	fmt.Printf("%32s  %s\n", "lost and ghosts, goal 0:", a)
	return nil
}

// audit compares what searches find with the ledgers and the database.
func (s *scale) audit(ledgers []*ledger) (*audited, error) {
	sum := &audited{}
	seen := map[*tenancy]bool{}
	for _, l := range ledgers {
		a, err := l.audit()
		if err != nil {
			return nil, err
		}
		sum.add(a)
		if seen[l.tenancy] {
			continue
		}
		seen[l.tenancy] = true
		if a, err = l.counts(); err != nil {
			return nil, err
		}
		sum.add(a)
	}
	return sum, nil
}

// auditAll audits everything that was ever written again, because a late write can bring a document back.
func (s *scale) auditAll() error {
	a, err := s.audit(s.all)
	if err != nil {
		return fmt.Errorf("audit everything: %w", err)
	}
	fmt.Printf("\n%32s  %s\n", "all of these once more:", a)
	return nil
}
