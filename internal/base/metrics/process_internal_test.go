package metrics

import "testing"

func TestWhatLinuxReportsIsRead(t *testing.T) {
	t.Parallel()
	const netstat = "TcpExt: InOctets Pruned\nTcpExt: 9 9\nIpExt: InNoRoutes InOctets OutOctets\nIpExt: 1 2345 678\n"
	if received, sent := octets(netstat); received != 2345 || sent != 678 {
		t.Errorf("received %v, sent %v", received, sent)
	}
	if received, sent := octets("IpExt: InOctets"); received != 0 || sent != 0 {
		t.Errorf("from a cut text: received %v, sent %v", received, sent)
	}
	for rest, want := range map[string]float64{"   1024   4096  files\n": 1024, "  unlimited  unlimited  bytes\n": -1, "": -1} {
		if got := limit(rest); got != want {
			t.Errorf("limit of %q: %v, want %v", rest, got, want)
		}
	}
}
