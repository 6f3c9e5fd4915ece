#!/bin/sh
# Installs the program from an archive of a release, after the archive's checksum has been verified.
#
#   sh install.sh --from URL --version 0.1.0 [--to DIR]
#
# URL is where the release is: a folder, or an address of https, that has checksums.txt and the archives
# keepsake_VERSION_OS_ARCH.tar.gz. Without --to, root installs into /usr/local/bin, and another user into ~/.local/bin.
#
# checksums.txt shows that the archive arrived whole. A person who can change one of them can change both, so get them from a
# place that you trust.
set -eu

fail() {
	echo "install.sh: $1" >&2
	exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# fetch FROM FILE copies an address or a file.
fetch() {
	case $1 in
	http://* | https://*)
		if has curl; then
			curl -fsSL --retry 2 -o "$2" "$1" 2>/dev/null
		elif has wget; then
			wget -q -O "$2" "$1" 2>/dev/null
		else
			fail "there is neither curl nor wget; install one of them, or download the release and give its folder as --from"
		fi
		;;
	*) cp "$1" "$2" 2>/dev/null ;;
	esac
}

# sum FILE prints the SHA-256 checksum of a file.
sum() {
	if has sha256sum; then
		sha256sum "$1"
	elif has shasum; then
		shasum -a 256 "$1"
	else
		fail "there is neither sha256sum nor shasum, so the archive cannot be verified; install one of them"
	fi | cut -d ' ' -f 1
}

main() {
	from=
	version=
	to=
	while [ $# -gt 0 ]; do
		case $1 in
		--from | --version | --to)
			[ $# -ge 2 ] || fail "$1 needs a value"
			case $1 in
			--from) from=$2 ;;
			--version) version=$2 ;;
			--to) to=$2 ;;
			esac
			shift 2
			;;
		*) fail "unknown option $1; the options are --from URL, --version VERSION and --to DIR" ;;
		esac
	done
	[ -n "$from" ] || fail "set --from to the address or the folder of the release"
	[ -n "$version" ] || fail "set --version to the version to install, such as 0.1.0"
	from=${from%/}
	from=${from#file://}
	version=${version#v}

	case $(uname -s) in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "there is no archive for $(uname -s); on Windows, unpack the zip of the release" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no archive for $os on $(uname -m); build the program with 'make build'" ;;
	esac
	name=keepsake_${version}_${os}_${arch}.tar.gz

	if [ -z "$to" ]; then
		if [ "$(id -u)" = 0 ]; then
			to=/usr/local/bin
		else
			[ -n "${HOME:-}" ] || fail "HOME is not set; set --to to the folder that gets the program"
			to=$HOME/.local/bin
		fi
	fi
	[ ! -d "$to/keepsake" ] || fail "$to/keepsake is a folder; set --to to another folder"

	temp=$(mktemp -d 2>/dev/null) || fail "no temporary folder can be created in ${TMPDIR:-/tmp}; set TMPDIR to one that can be written"
	new=
	trap 'rm -rf "$temp" ${new:+"$new"}' EXIT
	trap 'exit 1' HUP INT TERM

	fetch "$from/checksums.txt" "$temp/checksums.txt" || fail "$from/checksums.txt cannot be read; check --from"
	want=$(awk -v name="$name" '$2 == name || $2 == "*" name { print $1 }' "$temp/checksums.txt")
	[ -n "$want" ] || fail "$from/checksums.txt does not list $name, so the release has no such version or no archive for this system"
	fetch "$from/$name" "$temp/$name" || fail "$from/$name cannot be read"
	got=$(sum "$temp/$name") || exit 1
	[ -n "$got" ] || exit 1
	[ "$got" = "$want" ] || fail "the checksum of $name is $got, but checksums.txt says $want; nothing was installed"

	(cd "$temp" && tar -xzf "$name" keepsake 2>/dev/null) && [ -f "$temp/keepsake" ] || fail "$name contains no program; nothing was installed"

	# The program is renamed over the old one, which keeps running from its own file.
	mkdir -p "$to" 2>/dev/null || fail "$to cannot be created; set --to to a folder that can be written"
	new=$(mktemp "$to/.keepsake.XXXXXX" 2>/dev/null) || fail "$to cannot be written; set --to to another folder, or run this as a user who can write it"
	{ cp "$temp/keepsake" "$new" && chmod 0755 "$new"; } 2>/dev/null || fail "$to/keepsake cannot be written; nothing was installed"
	# A kernel that is too old, or a file system mounted with noexec, is found out before the old program is replaced.
	"$new" version >"$temp/said" 2>&1 ||
		fail "the program does not start on $(uname -sr) in $to: $(awk 'NR == 1' "$temp/said"); nothing was installed"
	mv -f "$new" "$to/keepsake" 2>/dev/null || fail "$to/keepsake cannot be written; nothing was installed"
	new=

	echo "Installed $to/keepsake."
	case :${PATH:-}: in
	*:"$to":*) ;;
	*) echo "$to is not in PATH; add it, or start the program as $to/keepsake." ;;
	esac
}

main "$@" # at the end, so that half a download of this file does nothing
