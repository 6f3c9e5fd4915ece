package table

import (
	"bufio"
	"bytes"
	"io"
)

// source is an input of which the last bytes can be read again.
type source struct {
	in    *bufio.Reader
	back  []byte // is read before in, from at on
	at    int
	fresh bool // a part came from in since fresh was set to false
}

// rereads reports whether the next part was read before.
func (s *source) rereads() bool { return s.at < len(s.back) }

// part returns the next bytes of a line, which are valid until the next call. complete is whether the line ends with them.
func (s *source) part() (part []byte, complete bool, err error) {
	if s.rereads() {
		rest := s.back[s.at:]
		n := bytes.IndexByte(rest, '\n')
		if n < 0 {
			s.at = len(s.back)
			return rest, false, nil
		}
		s.at += n + 1
		return rest[:n+1], true, nil
	}
	s.fresh = true
	part, err = s.in.ReadSlice('\n')
	switch {
	case err == bufio.ErrBufferFull:
		return part, false, nil
	case err == io.EOF && len(part) > 0:
		return part, true, nil
	default:
		return part, err == nil, err
	}
}

// unread lets the last bytes that were read be read again. All of them were read since fresh was set to false.
func (s *source) unread(last []byte) {
	if !s.fresh {
		s.at -= len(last)
		return
	}
	s.back, s.at = append(bytes.Clone(last), s.back[s.at:]...), 0
}
