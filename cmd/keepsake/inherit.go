package main

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
)

// firstInherited is the number of the first listening socket that a service manager opened for this process. The manager
// keeps the sockets open while one process ends and the next one starts, so a client that connects in between waits instead
// of being refused. The protocol is systemd's (sd_listen_fds): LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES.
const firstInherited = 3

// listenerNames are the names of listeners, in the order of sockets without a name.
var listenerNames = []string{"primary", "backend", "ai"}

// inherited returns the inherited sockets by the name of their listener. Without names from the manager, their order decides.
func (st *stage) inherited() (map[string]net.Listener, error) {
	if st.getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil // they are for the parent process
	}
	n, err := strconv.Atoi(st.getenv("LISTEN_FDS"))
	if err != nil || n < 1 || n > len(listenerNames) {
		return nil, fmt.Errorf("LISTEN_FDS must be from 1 to %d: sockets for the API, the probes and the AI services", len(listenerNames))
	}
	names := slices.Clone(listenerNames)
	for i, name := range strings.Split(st.getenv("LISTEN_FDNAMES"), ":") {
		if i < n && slices.Contains(listenerNames, name) {
			names[i] = name
		}
	}
	listeners := map[string]net.Listener{}
	for i, name := range names[:n] {
		l, err := inheritedTCP(uintptr(firstInherited+i), name)
		if err != nil {
			return nil, err
		}
		if listeners[name] != nil {
			return nil, fmt.Errorf("LISTEN_FDNAMES names two sockets %s", name)
		}
		listeners[name] = l
	}
	return listeners, nil
}

func inheritedTCP(fd uintptr, name string) (net.Listener, error) {
	f := os.NewFile(fd, "LISTEN_FDS "+name)
	defer f.Close() // FileListener duplicates the descriptor, and no child inherits the duplicate
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("use the inherited socket %s: %w", name, err)
	}
	if _, ok := l.(*net.TCPListener); !ok {
		l.Close()
		return nil, fmt.Errorf("the inherited socket %s is not a listening TCP socket", name)
	}
	return l, nil
}
