//go:build ignore

// Command generate writes the description of each version of the API that the code declares to v1.json and so on. Run it by
// `make openapi`.
package main

import (
	"fmt"
	"log"
	"os"

	"keepsake/internal/app"
)

func main() {
	log.SetFlags(0)
	for number := 1; number <= app.Newest(); number++ {
		text, err := app.OpenAPI(number)
		if err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(fmt.Sprintf("openapi/v%d.json", number), text, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
