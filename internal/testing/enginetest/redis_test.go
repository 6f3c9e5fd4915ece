package enginetest

import (
	"net"
	"testing"
	"time"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/testtier"
)

func TestARedisServerStopsAndStartsAgain(t *testing.T) {
	for name, opt := range map[string]RedisOptions{
		"Socket": {}, "TCP": {TCP: true}, "Password": {Password: "secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := StartRedis(t, opt)
			if got := s.Do(t, "SET a 1"); got != "+OK" {
				t.Fatalf("got %q", got)
			}
			s.Pause(t)
			s.Resume(t)
			s.Flush(t)
			if got := s.Do(t, "DBSIZE"); got != ":0" {
				t.Errorf("after a flush there are %s keys", got)
			}
			s.Do(t, "SET a 1")
			s.Kill(t)
			s.Start(t)
			if got := s.Do(t, "DBSIZE"); got != ":0" {
				t.Errorf("a server that was killed came back with %s keys", got)
			}
			s.Stop(t)
		})
	}
}

func TestARedisServerIsCutOff(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "needs iproute2, which only the long tier installs")
	w := StartNetwork(t)
	s := StartRedis(t, RedisOptions{Network: w})
	answers := func() bool {
		c, err := net.DialTimeout("tcp", s.Address(), time.Second)
		if err != nil {
			return false
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("PING\r\n")); err != nil {
			return false
		}
		_, err = c.Read(make([]byte, 16))
		return err == nil
	}
	for range 2 {
		await.Until(t, "the server answers", answers) // a network that was cut takes a moment
		w.Cut(t)
		if answers() {
			t.Error("a server that is cut off answered")
		}
		w.Mend(t)
	}
	await.Until(t, "the server answers again", answers)
	if got := s.Do(t, "PING"); got != "+PONG" {
		t.Errorf("got %q", got)
	}
}
