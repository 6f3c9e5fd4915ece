package outbound_test

import (
	"net/netip"
	"testing"

	"keepsake/internal/base/outbound"
)

func TestPrivateAddressesAreNotPublic(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"127.0.0.1": false, "127.255.255.254": false, "10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false,
		"169.254.169.254": false, "100.64.0.1": false, "100.127.255.255": false, "0.0.0.0": false, "192.0.0.1": false, "198.18.0.1": false,
		"192.0.2.1": false, "224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::7f00:1": false, "fe80::1": false, "fe80::1%eth0": false,
		"fec0::1": false, "fc00::1": false, "fd12:3456::1": false, "ff02::1": false, "64:ff9b::7f00:1": false, "64:ff9b:1::1": false,
		"2002:7f00:1::": false, "2001::1": false, "2001:db8::1": false,
		"8.8.8.8": true, "172.15.0.1": true, "172.32.0.1": true, "100.63.255.255": true, "100.128.0.1": true, "192.169.0.1": true,
		"::ffff:8.8.8.8": true, "2606:4700:4700::1111": true, "2a00:1450:4001::8a": true,
	} {
		if got := outbound.Public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
	if outbound.Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}
