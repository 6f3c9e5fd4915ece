package main

import (
	"bytes"
	"debug/buildinfo"
	"io"
	"os"
	"path/filepath"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // the three kinds of packages
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packages writes the packages for Debian, Red Hat and Alpine. The unit has a user of its own (DynamicUser), so no script
// creates one.
func (r *release) packages(p program) error {
	unit, err := os.ReadFile(filepath.Join(r.root, "deploy/keepsake.service"))
	if err != nil {
		return err
	}
	ours := filepath.Join(filepath.Dir(p.binary), "keepsake.service")
	unit = bytes.ReplaceAll(unit, []byte("/usr/local/bin/keepsake"), []byte("/usr/bin/keepsake"))
	if err := os.WriteFile(ours, unit, 0o644); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm", "apk"} {
		packager, err := nfpm.Get(kind)
		if err != nil {
			return err
		}
		info, err := r.packageInfo(p, ours, kind)
		if err != nil {
			return err
		}
		if err := nfpm.PrepareForPackager(info, kind); err != nil {
			return err
		}
		err = create(r.name(p.platform, "."+kind), func(w io.Writer) error { return packager.Package(info, w) })
		if err != nil {
			return err
		}
	}
	return nil
}

// zshFolders are where zsh looks for the completions of packages.
var zshFolders = map[string]string{"deb": "vendor-completions", "rpm": "site-functions", "apk": "site-functions"}

func (r *release) packageInfo(p program, unit, kind string) (*nfpm.Info, error) {
	info := &nfpm.Info{
		Name: "keepsake", Arch: p.arch, Platform: "linux", Version: r.version, VersionSchema: "semver", MTime: r.at,
		Section: "net", Priority: "optional", Maintainer: "The Keepsake authors", License: "Apache-2.0",
		Description: "Search and long-term memory behind a governed API",
	}
	info.RPM.BuildHost = "localhost"
	completion := func(shell string) string { return filepath.Join(r.help, "completions", completions[shell]) }
	type content struct {
		from, to string
		mode     os.FileMode
	}
	contents := []content{
		{p.binary, "/usr/bin/keepsake", 0o755},
		{unit, "/usr/lib/systemd/system/keepsake.service", 0o644},
		{filepath.Join(r.root, "deploy/keepsake.socket"), "/usr/lib/systemd/system/keepsake.socket", 0o644},
		{filepath.Join(r.root, "LICENSE"), "/usr/share/doc/keepsake/LICENSE", 0o644},
		{p.notices, "/usr/share/doc/keepsake/NOTICES", 0o644},
		{filepath.Join(r.help, "SECURITY.md"), "/usr/share/doc/keepsake/SECURITY.md", 0o644},
		{completion("bash"), "/usr/share/bash-completion/completions/keepsake", 0o644},
		{completion("fish"), "/usr/share/fish/vendor_completions.d/keepsake.fish", 0o644},
		{completion("zsh"), "/usr/share/zsh/" + zshFolders[kind] + "/_keepsake", 0o644},
	}
	pages, err := r.manualPages()
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		contents = append(contents, content{filepath.Join(r.help, "man", page), "/usr/share/man/man1/" + page, 0o644})
	}
	for _, f := range contents {
		info.Contents = append(info.Contents, &files.Content{
			Source: f.from, Destination: f.to,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.at},
		})
	}
	return nfpm.WithDefaults(info), nil
}

// bill writes the bill of materials in the form of CycloneDX: the modules that the binary itself lists.
func (r *release) bill(p program) error {
	info, err := buildinfo.ReadFile(p.binary)
	if err != nil {
		return err
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: r.at.Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef: "keepsake", Type: cyclonedx.ComponentTypeApplication, Name: "keepsake", Version: r.version,
		},
	}
	parts := []cyclonedx.Component{{
		BOMRef: "pkg:golang/std", Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion,
		PackageURL: "pkg:golang/std@" + info.GoVersion[len("go"):],
	}}
	for _, m := range info.Deps {
		address := "pkg:golang/" + m.Path + "@" + m.Version
		parts = append(parts, cyclonedx.Component{
			BOMRef: address, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: address,
		})
	}
	bom.Components = &parts
	return create(r.name(p.platform, ".cdx.json"), func(w io.Writer) error {
		return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}
