#!/bin/sh
# Installs what tests start for real, from Debian's packages, if root runs it. Elsewhere it names what is missing: those
# tests are skipped. With CI set, a missing program is an error. The argument is the tier, quick or all: the long tests
# start more.
set -eu

# command:package
pairs="postgres:postgresql redis-server:redis-server pgbouncer:pgbouncer strace:strace"
[ "$1" = quick ] || pairs="$pairs nginx:nginx-light caddy:caddy haproxy:haproxy ip:iproute2 systemd-analyze:systemd chromium:chromium minisign:minisign pdftotext:poppler-utils"

# absent says what is not installed. With CI set, that ends the script.
absent() {
	if [ -n "${CI:-}" ]; then
		echo "not installed: $1" >&2
		exit 1
	fi
	echo "not installed, so its tests are skipped: $1"
}

# What npm installs, at the versions of the lock files: the conformance suite and clients of the Model Context Protocol with the
# Node that runs them, the checker of accessibility, and the compiler of the TypeScript client with a runtime other than
# Node that it is tested in.
for folder in tools/mcp tools/axe tools/deno clients/typescript; do
	if [ "$1" = quick ] || [ $folder/node_modules/.package-lock.json -nt $folder/package-lock.json ]; then
		continue
	fi
	if command -v npm >/dev/null; then
		echo "installing $folder"
		npm ci --prefix $folder --ignore-scripts --no-audit --no-fund --silent
	else
		absent npm
	fi
done

# What Maven installs, at the versions of the pom: a node of OpenSearch.
opensearch=tools/opensearch
if [ "$1" != quick ] && ! [ $opensearch/lib/installed -nt $opensearch/pom.xml ]; then
	if command -v java >/dev/null && command -v mvn >/dev/null; then
		echo "installing $opensearch"
		rm -rf $opensearch/lib
		if mvn -B -q -f $opensearch/pom.xml dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=lib >/dev/null; then
			touch $opensearch/lib/installed
		else
			absent "$opensearch (Maven's repository)"
		fi
	else
		absent "$opensearch (Java 17 and Maven)"
	fi
fi

missing() {
	# Servers are often installed outside of PATH.
	bins=$(echo /usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin | tr ' ' ':')
	for pair in $pairs; do
		PATH="$PATH:/usr/sbin:/sbin:$bins" command -v "${pair%%:*}" >/dev/null 2>&1 || echo "${pair##*:}"
	done
	[ "$1" = quick ] || python3 -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
}

packages=$(missing "$1")
if [ -n "$packages" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
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
	packages=$(missing "$1")
fi
[ -z "$packages" ] || absent "$(echo $packages)"

# What pip installs, at the versions of the lock file: the generator, the checkers and the tests of the Python client.
[ "$1" = quick ] || clients/python/tools/venv.sh || absent "python3 3.10 with venv and pip"

# What pip installs, at the versions of tools/encoder: a small encoder, which runs on the processor. The file says that all is there.
encoder=tools/encoder
if [ "$1" = quick ] || [ $encoder/.venv/installed -nt $encoder/requirements.txt ]; then
	exit 0
fi
echo "installing $encoder"
if python3 -m venv --clear $encoder/.venv >/dev/null &&
	$encoder/.venv/bin/pip install --quiet --disable-pip-version-check --only-binary=:all: --no-deps -r $encoder/requirements.txt; then
	touch $encoder/.venv/installed
else
	absent "$encoder (Python 3 with venv, and PyPI)"
fi
