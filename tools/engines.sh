#!/bin/sh
# Sees that what tests start for real is there, and installs it from Debian's packages where that is allowed. What is
# missing in the end is an error: a suite that passes has run.
set -eu

missing() {
	# command:package; a command may lie where an ordinary PATH does not lead.
	for pair in postgres:postgresql redis-server:redis-server nginx:nginx-light caddy:caddy strace:strace ip:iproute2 \
		systemd-analyze:systemd; do
		command=${pair%%:*}
		PATH="$PATH:/usr/sbin:/sbin:$(echo /usr/lib/postgresql/*/bin | tr ' ' ':')" command -v "$command" >/dev/null 2>&1 ||
			echo "${pair##*:}"
	done
}

packages=$(missing)
[ -n "$packages" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "tests need these packages, which only root can install: $(echo $packages)" >&2
	exit 1
fi
echo "installing $(echo $packages)"
# The servers that tests use are their own; the packages' need not run.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 0755 "$policy"
	trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
packages=$(missing)
[ -z "$packages" ] || { echo "still missing after the installation: $(echo $packages)" >&2; exit 1; }
