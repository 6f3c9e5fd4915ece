#!/bin/sh
# Installs what tests start for real, from Debian's packages, if root runs it. Elsewhere it names what is missing: those
# tests are skipped. With CI set, a missing program is an error. The argument is the tier, quick or all: the long tests
# start more.
set -eu

# command:package
pairs="postgres:postgresql redis-server:redis-server pgbouncer:pgbouncer strace:strace"
[ "$1" = quick ] || pairs="$pairs nginx:nginx-light caddy:caddy ip:iproute2 systemd-analyze:systemd chromium:chromium"

# What npm installs, at the versions of the lock files: the conformance suite and clients of the Model Context Protocol with the
# Node that runs them, and the checker of accessibility.
for tool in mcp axe; do
	if [ "$1" = quick ] || [ tools/$tool/node_modules/.package-lock.json -nt tools/$tool/package-lock.json ]; then
		continue
	fi
	if command -v npm >/dev/null; then
		echo "installing tools/$tool"
		npm ci --prefix tools/$tool --ignore-scripts --no-audit --no-fund --silent
	elif [ -n "${CI:-}" ]; then
		echo "not installed: npm" >&2
		exit 1
	else
		echo "not installed, so a test is skipped: npm"
	fi
done

missing() {
	# Servers are often installed outside of PATH.
	bins=$(echo /usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin | tr ' ' ':')
	for pair in $pairs; do
		PATH="$PATH:/usr/sbin:/sbin:$bins" command -v "${pair%%:*}" >/dev/null 2>&1 || echo "${pair##*:}"
	done
}

packages=$(missing)
[ -n "$packages" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "installing $(echo $packages)"
	# The servers that tests use are their own; the packages' servers need not run.
	policy=/usr/sbin/policy-rc.d
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 0755 "$policy"
		trap 'rm -f "$policy"' EXIT
	fi
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
	packages=$(missing)
	[ -n "$packages" ] || exit 0
fi
if [ -n "${CI:-}" ]; then
	echo "not installed: $(echo $packages)" >&2
	exit 1
fi
echo "not installed, so their tests are skipped: $(echo $packages)"
