package api

import "golang.org/x/net/http2"

// A client can keep a server busy with HTTP/2 frames that bring nothing: Go's server reads empty CONTINUATION, PRIORITY,
// SETTINGS and the like without end, before any credential is looked at. So each connection has an allowance. A frame that
// the client sends costs frameCost of it, as if it were so many bytes. What a connection is for gives back: bytes of bodies
// in both directions, and answers. Requests alone give nothing back, because a client can reset them before they run.
//
// A real client's frames pay for themselves: of bodies by their bytes, of WINDOW_UPDATE by the bytes that they acknowledge,
// and all others by the answers.
const (
	frameCost      = 16
	answerWorth    = 16 * frameCost
	frameAllowance = 4096 * frameCost
)

// http2Frame is what counts of a frame.
type http2Frame struct {
	kind    http2.FrameType
	content int // bytes of a body, without padding
}

// received is what a frame from the client changes in the allowance of its connection.
func (f http2Frame) received() int64 { return int64(f.content) - frameCost }

// sent is what a frame to the client changes in the allowance of its connection.
func (f http2Frame) sent() int64 {
	if f.kind == http2.FrameHeaders {
		return answerWorth
	}
	return int64(f.content)
}

// afterFrame is an allowance after a change. A client cannot save up more than it began with.
func afterFrame(left, change int64) int64 { return min(left+change, frameAllowance) }

// frameHeader is the size of a frame's header (RFC 9113, section 4.1).
const frameHeader = 9

// frameReader finds the frames in one direction of a connection. The bytes can come in pieces of any size.
type frameReader struct {
	head [frameHeader + 1]byte // the header, and the length of the padding if it has one
	have int                   // bytes in head
	skip int                   // bytes to pass over before the next header
}

// next returns the next frame that begins in p, and what follows its header. It reports false if p ends before.
func (r *frameReader) next(p []byte) (f http2Frame, rest []byte, ok bool) {
	passed := min(r.skip, len(p))
	r.skip -= passed
	p = p[passed:]
	for r.have < r.size() {
		n := copy(r.head[r.have:r.size()], p)
		if n == 0 {
			return http2Frame{}, nil, false
		}
		r.have += n
		p = p[n:]
	}
	f.kind = http2.FrameType(r.head[3])
	if f.kind == http2.FrameData {
		f.content = r.length()
		if r.padded() {
			f.content = max(0, f.content-1-int(r.head[frameHeader]))
		}
	}
	r.skip = r.length() - (r.have - frameHeader)
	r.have = 0
	return f, p, true
}

func (r *frameReader) length() int {
	return int(r.head[0])<<16 | int(r.head[1])<<8 | int(r.head[2])
}

// padded reports whether the header in head is of a DATA frame that says how much of it is padding.
func (r *frameReader) padded() bool {
	return http2.FrameType(r.head[3]) == http2.FrameData && http2.Flags(r.head[4]).Has(http2.FlagDataPadded) && r.length() > 0
}

// size is how many bytes head needs, as far as it is known.
func (r *frameReader) size() int {
	if r.have >= frameHeader && r.padded() {
		return frameHeader + 1
	}
	return frameHeader
}
