//go:build ignore

// Command generate writes the description of each version of the API that the code declares to v1.json and so on, and records its
// info.version in versions.txt. It refuses to give a version that is recorded a second meaning. Run it by `make openapi`.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"keepsake/internal/app"
)

func main() {
	log.SetFlags(0)
	for number := 1; number <= app.Newest(); number++ {
		if err := generate(number, fmt.Sprintf("openapi/v%d.json", number), "openapi/versions.txt"); err != nil {
			log.Fatalf("version %d: %v", number, err)
		}
	}
}

func generate(number int, document, versions string) error {
	text, err := app.OpenAPI(number)
	if err != nil {
		return err
	}
	var doc struct {
		Info struct {
			Version string `json:"version"`
		} `json:"info"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("read what was generated: %w", err)
	}
	record := fmt.Sprintf("%s %x\n", doc.Info.Version, sha256.Sum256(text))
	known, err := os.ReadFile(versions)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	switch {
	case strings.Contains(string(known), record):
	case strings.HasPrefix(string(known), doc.Info.Version+" ") || strings.Contains(string(known), "\n"+doc.Info.Version+" "):
		return fmt.Errorf("the description changed, but its version is still %s: raise it by Registry.SetDocumentVersion", doc.Info.Version)
	default:
		if err := os.WriteFile(versions, append(known, record...), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(document, text, 0o644)
}
