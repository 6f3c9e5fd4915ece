package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imageUser owns /data and runs the program, as in deploy/Dockerfile.
const imageUser = 65532

// image writes an image for containers as a tar of an OCI layout, with one image for each program.
func (r *release) image(programs []program, dir string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range programs {
		one, err := r.imageOf(p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        one,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
		})
	}
	// The layout has one entry, with the version as its name: the index of all platforms.
	named := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add:        index,
		Descriptor: v1.Descriptor{Annotations: map[string]string{"org.opencontainers.image.ref.name": r.version}},
	})
	if _, err := layout.Write(dir, named); err != nil {
		return err
	}
	var entries []file
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path) // path is below dir
		entries = append(entries, file{name: filepath.ToSlash(name), mode: 0o644, data: data})
		return err
	})
	if err != nil {
		return err
	}
	return create(filepath.Join(r.out, "keepsake_"+r.version+"_image.tar"), func(w io.Writer) error { return writeTar(w, entries, r.at) })
}

// imageOf returns what deploy/Dockerfile describes for one platform. A test compares both.
func (r *release) imageOf(p program) (v1.Image, error) {
	binary, err := os.ReadFile(p.binary)
	if err != nil {
		return nil, err
	}
	notices, err := os.ReadFile(p.notices)
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	err = writeTar(&content, []file{
		{name: "data/", mode: 0o700, dir: true, user: imageUser},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: authorities()},
		{name: "keepsake", mode: 0o755, data: binary},
		{name: "usr/share/licenses/keepsake/NOTICES", mode: 0o644, data: notices},
	}, r.at)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	full, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.at}}})
	if err != nil {
		return nil, err
	}
	config, err := full.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.os, p.arch, v1.Time{Time: r.at}
	config.Config = v1.Config{
		User: "65532:65532", Env: []string{"KEEPSAKE_DATA=/data", "KEEPSAKE_BACKEND_LISTEN=:8081"},
		Entrypoint: []string{"/keepsake"}, Cmd: []string{"serve"}, StopSignal: "SIGTERM",
		Volumes: map[string]struct{}{"/data": {}}, ExposedPorts: map[string]struct{}{"8080/tcp": {}, "8081/tcp": {}},
		Healthcheck: &v1.HealthConfig{
			Test:     []string{"CMD", "/keepsake", "doctor"},
			Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: 30 * time.Second,
		},
		Labels: map[string]string{
			"org.opencontainers.image.title": "keepsake", "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(full, config)
}

// authorities returns the public certificate authorities, for TLS to PostgreSQL and Redis. They come from a pinned module,
// so they do not depend on the machine that builds the release.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // a file of PEM cannot say on which certificates an authority may be used
		}
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
	}
	return b.Bytes()
}
