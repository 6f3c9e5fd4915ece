package api

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2"
	"pgregory.net/rapid"
)

// framesIn returns the frames of pieces.
func framesIn(r *frameReader, pieces ...[]byte) []http2Frame {
	var all []http2Frame
	for _, p := range pieces {
		for f, rest, ok := r.next(p); ok; f, rest, ok = r.next(rest) {
			all = append(all, f)
		}
	}
	return all
}

// TestFramesAreFound writes frames of any kind, and finds them in pieces of any size.
func TestFramesAreFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		out.WriteString(http2.ClientPreface)
		framer := http2.NewFramer(&out, nil)
		framer.AllowIllegalWrites = true
		var want []http2Frame
		for range rapid.IntRange(0, 20).Draw(t, "frames") {
			kind := http2.FrameType(rapid.Byte().Draw(t, "kind"))
			payload := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "payload")
			f := http2Frame{kind: kind}
			switch {
			case kind != http2.FrameData && rapid.Bool().Draw(t, "data"):
				f.kind = http2.FrameData
				fallthrough
			case kind == http2.FrameData:
				f.content = len(payload)
				if pad := rapid.IntRange(-1, 255).Draw(t, "padding"); pad >= 0 {
					_ = framer.WriteDataPadded(1, false, payload, make([]byte, pad))
				} else {
					_ = framer.WriteData(1, false, payload)
				}
			default:
				_ = framer.WriteRawFrame(kind, http2.Flags(rapid.Byte().Draw(t, "flags")), 1, payload)
			}
			want = append(want, f)
		}
		var pieces [][]byte
		for rest := out.Bytes(); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		got := framesIn(&frameReader{skip: len(http2.ClientPreface)}, pieces...)
		if len(got) != len(want) {
			t.Fatalf("%d frames found, %d written", len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("frame %d: %+v found, %+v written", i, got[i], want[i])
			}
		}
	})
}

// FuzzFrames reads any bytes in two pieces, as in one.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{0, 0, 3, 0, 8, 0, 0, 0, 1, 2, 0, 0}, 10)
	f.Add([]byte{0, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0}, 9)
	f.Fuzz(func(t *testing.T, p []byte, cut int) {
		cut = min(max(cut, 0), len(p))
		whole, cutUp := framesIn(new(frameReader), p), framesIn(new(frameReader), p[:cut], p[cut:])
		if len(whole) != len(cutUp) {
			t.Fatalf("%d frames in one piece, %d in two", len(whole), len(cutUp))
		}
		for i, f := range whole {
			if f != cutUp[i] {
				t.Errorf("%+v in one piece, %+v in two", f, cutUp[i])
			}
			if f.content < 0 || f.content > len(p)+1<<24 || f.content > 0 && f.kind != http2.FrameData {
				t.Errorf("%+v", f)
			}
		}
	})
}

// TestFramesWithoutContentUseUpTheAllowance sends frames of any kinds that bring little, without an answer.
func TestFramesWithoutContentUseUpTheAllowance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) http2Frame {
			if rapid.Bool().Draw(t, "data") {
				return http2Frame{kind: http2.FrameData, content: rapid.IntRange(0, frameCost/2).Draw(t, "content")}
			}
			return http2Frame{kind: http2.FrameType(rapid.ByteRange(1, 255).Draw(t, "kind"))}
		}), 1, 8).Draw(t, "frames")
		left := int64(frameAllowance)
		for n := range 2*frameAllowance/frameCost + 1 {
			if left = afterFrame(left, kinds[n%len(kinds)].received()); left < 0 {
				return
			}
		}
		t.Fatalf("%d is left", left)
	})
}

// TestRealClientsKeepTheirAllowance plays clients at their worst: each part of a connection's life is repeated without end.
func TestRealClientsKeepTheirAllowance(t *testing.T) {
	t.Parallel()
	frame := func(kind http2.FrameType) http2Frame { return http2Frame{kind: kind} }
	data := func(n int) http2Frame { return http2Frame{kind: http2.FrameData, content: n} }
	rapid.Check(t, func(t *rapid.T) {
		left := int64(frameAllowance)
		in := func(frames ...http2Frame) {
			for _, f := range frames {
				left = afterFrame(left, f.received())
			}
		}
		out := func(frames ...http2Frame) {
			for _, f := range frames {
				left = afterFrame(left, f.sent())
			}
		}
		part := rapid.SampledFrom([]func(){
			func() { // a small request, its priorities, window updates and a ping
				in(frame(http2.FrameHeaders), frame(http2.FramePriority), frame(http2.FramePriorityUpdate), data(2), frame(http2.FramePing))
				out(frame(http2.FrameHeaders), data(30), data(0))
				in(frame(http2.FrameWindowUpdate), frame(http2.FrameWindowUpdate))
			},
			func() { // a browser that cancels seven of eight requests
				for range 7 {
					in(frame(http2.FrameHeaders), frame(http2.FrameRSTStream))
				}
				in(frame(http2.FrameHeaders))
				out(frame(http2.FrameHeaders))
			},
			func() { in(data(rapid.IntRange(frameCost, 16<<10).Draw(t, "line"))) }, // a line of an import
			func() { // a line of an export, acknowledged twice
				out(data(rapid.IntRange(2*frameCost, 16<<10).Draw(t, "line")))
				in(frame(http2.FrameWindowUpdate), frame(http2.FrameWindowUpdate))
			},
		}).Draw(t, "part")
		for range 2000 {
			if part(); left < frameAllowance/2 {
				t.Fatalf("%d is left", left)
			}
		}
	})
}

// TestAllowanceIsNotSavedUp: what a client earned before does not lengthen a flood.
func TestAllowanceIsNotSavedUp(t *testing.T) {
	t.Parallel()
	left := afterFrame(frameAllowance, http2Frame{kind: http2.FrameData, content: 1 << 24}.sent())
	if left != frameAllowance {
		t.Errorf("%d is left of %d", left, frameAllowance)
	}
}

func TestLargestFrameIsFound(t *testing.T) {
	t.Parallel()
	r := new(frameReader)
	got := framesIn(r, []byte{255, 255, 255, 0, 0, 0, 0, 0, 1})
	if len(got) != 1 || got[0].content != 1<<24-1 || r.skip != 1<<24-1 {
		t.Errorf("%+v, then %d bytes of payload", got, r.skip)
	}
}
