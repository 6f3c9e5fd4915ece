package outbound_test

import (
	"net/netip"
	"testing"

	"keepsake/internal/base/outbound"
)

func TestOnlyAddressesOfThePublicInternetArePublic(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"1.1.1.1": true, "8.8.8.8": true, "192.0.1.1": true, "223.255.255.254": true, "::ffff:1.1.1.1": true, "2606:4700:4700::1111": true, "2a00:1450::1": true,
		"0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "100.64.0.1": false, "100.127.255.255": false, "127.0.0.1": false, "127.255.0.9": false,
		"169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "198.18.0.1": false, "224.0.0.1": false,
		"239.1.1.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "::127.0.0.1": false, "::10.0.0.1": false, "::8.8.8.8": false, "::ffff:127.0.0.1": false, "::ffff:10.1.2.3": false,
		"::ffff:0:127.0.0.1": false, "::ffff:0:8.8.8.8": false, "64:ff9b::127.0.0.1": false, "64:ff9b::8.8.8.8": false, "64:ff9b:1::a00:1": false,
		"100::1": false, "2001::1": false, "2001:0:7f00:1::": false, "2001:db8::1": false, "2002:7f00:1::": false, "2002:808:808::1": false,
		"3fff::1": false, "5f00::1": false, "fc00::1": false, "fd12:3456::1": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false,
		"ff02::1": false, "2606:4700:4700::1111%eth0": false, "4000::1": false, "8000::1": false,
	} {
		if got := outbound.Public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
	if outbound.Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// However an IPv4 address is put into an IPv6 address, the result is public only if the address itself is.
func FuzzEmbeddedAddressIsNotMorePublic(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1}, "::ffff:0:0:0")
	f.Add([]byte{10, 0, 0, 1}, "64:ff9b::")
	f.Add([]byte{169, 254, 169, 254}, "2002::")
	f.Fuzz(func(t *testing.T, four []byte, around string) {
		v4, ok := netip.AddrFromSlice(four)
		base, err := netip.ParseAddr(around)
		if !ok || !v4.Is4() || err != nil || !base.Is6() {
			t.Skip()
		}
		for _, p := range []string{"::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/96"} {
			sixteen := netip.MustParsePrefix(p).Addr().As16()
			copy(sixteen[12:], four)
			if a := netip.AddrFrom16(sixteen); outbound.Public(a) && !outbound.Public(v4) {
				t.Errorf("%s is public and %s is not", a, v4)
			}
		}
		sixteen := base.As16()
		copy(sixteen[:2], []byte{0x20, 0x02}) // 6to4
		copy(sixteen[2:], four)
		if a := netip.AddrFrom16(sixteen); outbound.Public(a) {
			t.Errorf("%s leads to %s and is public", a, v4)
		}
	})
}
