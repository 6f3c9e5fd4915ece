package metrics

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// Metrics of the process. All but the time of the start are read from /proc, so only Linux has them.
var (
	processCPU      = Metric{Name: "process_cpu_seconds_total", Type: Counter, Help: "CPU time of the process."}
	processRSS      = Metric{Name: "process_resident_memory_bytes", Type: Gauge, Help: "Resident memory of the process."}
	processSize     = Metric{Name: "process_virtual_memory_bytes", Type: Gauge, Help: "Address space of the process."}
	processMaxSize  = Metric{Name: "process_virtual_memory_max_bytes", Type: Gauge, Help: "Limit of the address space; -1 if there is none."}
	processReceived = Metric{Name: "process_network_receive_bytes_total", Type: Counter, Help: "Bytes that the network interfaces received."}
	processSent     = Metric{Name: "process_network_transmit_bytes_total", Type: Counter, Help: "Bytes that the network interfaces sent."}
	processFiles    = Metric{Name: "process_open_fds", Type: Gauge, Help: "Open file descriptors."}
	processMaxFiles = Metric{Name: "process_max_fds", Type: Gauge, Help: "Limit of open file descriptors; -1 if there is none."}
	processStart    = Metric{Name: "process_start_time_seconds", Type: Gauge, Help: "When the program started, as Unix time."}
)

// ticks is how many clock ticks of /proc/self/stat are a second: 100 on every architecture that Go runs on.
const ticks = 100

func readProcess(s *Scrape) {
	if stat, err := os.ReadFile("/proc/self/stat"); err == nil {
		// The fields follow the name of the program, which is in parentheses.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) > 21 {
			s.Set(&processCPU, (number(fields[11])+number(fields[12]))/ticks)
			s.Set(&processSize, number(fields[20]))
			s.Set(&processRSS, number(fields[21])*float64(os.Getpagesize()))
		}
	}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		s.Set(&processFiles, float64(len(files)-1)) // one is the folder itself
	}
	if limits, err := os.ReadFile("/proc/self/limits"); err == nil {
		for line := range strings.Lines(string(limits)) {
			if rest, ok := strings.CutPrefix(line, "Max open files"); ok {
				s.Set(&processMaxFiles, limit(rest))
			} else if rest, ok := strings.CutPrefix(line, "Max address space"); ok {
				s.Set(&processMaxSize, limit(rest))
			}
		}
	}
	if traffic, err := os.ReadFile("/proc/self/net/netstat"); err == nil {
		received, sent := octets(string(traffic))
		s.Set(&processReceived, received)
		s.Set(&processSent, sent)
	}
}

// limit is the first number of a line of /proc/self/limits, or -1 for "unlimited".
func limit(rest string) float64 {
	fields := strings.Fields(rest)
	if len(fields) == 0 || fields[0] == "unlimited" {
		return -1
	}
	return number(fields[0])
}

// octets finds the traffic in the lines IpExt of /proc/self/net/netstat: first one with names, then one with their values.
func octets(netstat string) (received, sent float64) {
	var names []string
	for line := range strings.Lines(netstat) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "IpExt:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i := 0; i < len(names) && i < len(fields); i++ {
			switch names[i] {
			case "InOctets":
				received = number(fields[i])
			case "OutOctets":
				sent = number(fields[i])
			}
		}
	}
	return received, sent
}

// number is 0 for what is no number.
func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}
