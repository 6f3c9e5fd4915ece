package main

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestTheImageIsValid reads the layout of an image for two platforms and checks every digest and size in it.
func TestTheImageIsValid(t *testing.T) {
	t.Parallel()
	r, p := packed(t, []byte("program"))
	other := p
	other.arch = "arm64"
	dir := t.TempDir()
	if err := r.image([]program{p, other}, dir); err != nil {
		t.Fatal(err)
	}
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(outer); err != nil {
		t.Error(err)
	}
	named, err := outer.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(named.Manifests) != 1 || named.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "0.1.0" {
		t.Fatalf("the layout has %+v", named.Manifests)
	}
	index, err := outer.ImageIndex(named.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	images, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range images.Manifests {
		found = append(found, m.Platform.String())
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Platform().String() != m.Platform.String() || config.Config.Labels["org.opencontainers.image.version"] != "0.1.0" {
			t.Errorf("the image for %s has %+v", m.Platform, config)
		}
	}
	if !slices.Equal(found, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("the index has images for %q", found)
	}
}

// TestTheImageIsThatOfTheDockerfile compares every line of the Dockerfile's last stage with the image of a release.
func TestTheImageIsThatOfTheDockerfile(t *testing.T) {
	t.Parallel()
	r, p := packed(t, []byte("program"))
	image, err := r.imageOf(p)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := config.Config
	list := func(words []string) string {
		text, err := json.Marshal(words)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), ",", ", ")
	}
	got := []string{"ARG VERSION", "USER " + c.User, "STOPSIGNAL " + c.StopSignal, "ENTRYPOINT " + list(c.Entrypoint), "CMD " + list(c.Cmd)}
	for _, value := range c.Env {
		got = append(got, "ENV "+value)
	}
	for name, value := range c.Labels {
		got = append(got, "LABEL "+name+"="+strings.ReplaceAll(value, r.version, "$VERSION"))
	}
	for folder := range c.Volumes {
		got = append(got, "VOLUME "+folder)
	}
	ports := strings.Join(slices.Sorted(maps.Keys(c.ExposedPorts)), " ")
	got = append(got, "EXPOSE "+strings.ReplaceAll(ports, "/tcp", ""))
	h := c.Healthcheck
	got = append(got, fmt.Sprintf("HEALTHCHECK --interval=%s --timeout=%s --start-period=%s CMD %s", h.Interval, h.Timeout, h.StartPeriod, list(h.Test[1:])))
	for _, name := range filesOf(t, image) {
		got = append(got, "COPY /"+strings.TrimSuffix(name, "/"))
	}

	var want []string
	_, stage, _ := strings.Cut(string(readFile(t, filepath.Join(r.root, "deploy", "Dockerfile"))), "\nFROM scratch\n")
	for line := range strings.Lines(stage) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "COPY ") {
			line = "COPY " + line[strings.LastIndex(line, " ")+1:]
		}
		if !strings.HasPrefix(line, "#") {
			want = append(want, line)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the image of a release is\n%s\nand that of the Dockerfile is\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// filesOf returns the names of what is in an image.
func filesOf(t *testing.T, image v1.Image) (names []string) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		defer content.Close()
		for entries := tar.NewReader(content); ; {
			h, err := entries.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, h.Name)
		}
	}
	return names
}
