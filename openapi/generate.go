//go:build ignore

// Command generate writes the description of each version of the API that the code declares to v1.json and so on, and records its
// info.version in versions.txt. It refuses to change the meaning of a version that clients were promised, or of any but the last.
// Run it by `make openapi`.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"keepsake/internal/app"
)

func main() {
	log.SetFlags(0)
	for number := 1; number <= app.Newest(); number++ {
		if err := generate(number, fmt.Sprintf("openapi/v%d.json", number), fmt.Sprintf("openapi/baseline/v%d.json", number), "openapi/versions.txt"); err != nil {
			log.Fatalf("version %d: %v", number, err)
		}
	}
}

func generate(number int, document, baseline, versions string) error {
	text, err := app.OpenAPI(number)
	if err != nil {
		return err
	}
	version, err := infoVersion(text)
	if err != nil {
		return err
	}
	promised := ""
	if released, err := os.ReadFile(baseline); err == nil {
		if promised, err = infoVersion(released); err != nil {
			return fmt.Errorf("read %s: %w", baseline, err)
		}
	} else if !os.IsNotExist(err) {
		return err
	}
	known, err := os.ReadFile(versions)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	record := fmt.Sprintf("%s %x", version, sha256.Sum256(text))
	lines := strings.Split(strings.TrimSuffix(string(known), "\n"), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, version+" ") })
	switch {
	case at < 0:
		lines = append(lines, record)
	case lines[at] == record:
	case at == len(lines)-1 && version != promised:
		lines[at] = record
	default:
		return fmt.Errorf("the description changed, but its version is still %s: raise it by Registry.SetDocumentVersion", version)
	}
	if err := os.WriteFile(versions, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	return os.WriteFile(document, text, 0o644)
}

func infoVersion(text []byte) (string, error) {
	var doc struct {
		Info struct {
			Version string `json:"version"`
		} `json:"info"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return "", fmt.Errorf("read the description: %w", err)
	}
	return doc.Info.Version, nil
}
