package move

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
)

// ErrDiffers reports a table that differs between the two sides.
var ErrDiffers = errors.New("the two sides differ")

// sum is the content of a table regardless of the order of its rows, which engines can sort differently: the SHA-256 of
// each row, all added up.
type sum struct {
	rows int64
	of   [sha256.Size / 8]uint64

	hash hash.Hash
	buf  []byte
}

func (s *sum) add(row []any) {
	if s.hash == nil {
		s.hash = sha256.New()
	}
	b := s.buf[:0]
	for _, v := range row {
		switch v := v.(type) {
		case nil:
			b = append(b, 0)
		case int64:
			b = binary.BigEndian.AppendUint64(append(b, 1), uint64(v))
		case string:
			b = append(binary.BigEndian.AppendUint64(append(b, 2), uint64(len(v))), v...)
		case []byte:
			b = append(binary.BigEndian.AppendUint64(append(b, 3), uint64(len(v))), v...)
		}
	}
	s.hash.Reset()
	s.hash.Write(b)
	s.buf = s.hash.Sum(b[:0])
	for i := range s.of {
		s.of[i] += binary.BigEndian.Uint64(s.buf[8*i:])
	}
	s.rows++
}

// verify reads both sides concurrently and returns the number of rows.
func (t *table) verify(ctx context.Context, m *Move) (int64, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	there := make(chan sum, 1)
	go func() {
		s, err := t.sum(ctx, t.to, func(int64) {})
		if err != nil {
			fail(fmt.Errorf("read the target: %w", err))
		}
		there <- s
	}()
	here, err := t.sum(ctx, t.from, func(rows int64) {
		m.Progress(Step{Table: t.Name, Rows: rows, Total: max(t.total, rows), Verifying: true})
	})
	if err != nil {
		fail(fmt.Errorf("read the source: %w", err))
	}
	target := <-there
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case here.rows != target.rows:
		return 0, fmt.Errorf("%w: %d rows in the source, %d in the target", ErrDiffers, here.rows, target.rows)
	case here.of != target.of:
		return 0, fmt.Errorf("%w: both have %d rows, but with different content", ErrDiffers, here.rows)
	}
	return here.rows, nil
}

func (t *table) sum(ctx context.Context, from side, progress func(rows int64)) (s sum, err error) {
	for after := []any(nil); ; {
		b, err := t.read(ctx, from, after)
		if err != nil {
			return s, err
		}
		for _, row := range b.rows {
			s.add(row)
		}
		progress(s.rows)
		if b.last {
			s.hash, s.buf = nil, nil
			return s, nil
		}
		after = t.keyOf(b.rows[len(b.rows)-1])
	}
}
