package seal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead/subtle"

	"keepsake/internal/problem"
)

// wrappingPrefix begins the names of the secrets that wrap data keys; behind it stands a number, and the highest one is in
// use. There is more than one only while keys are wrapped anew.
const wrappingPrefix = "subject-keys/"

// wrappings are the names of the wrapping secrets that are known, the one in use last.
func (s *Subjects) wrappings() []string {
	names := s.Secrets.Names(wrappingPrefix)
	slices.SortFunc(names, func(a, b string) int { return int(numberOf(a) - numberOf(b)) })
	return names
}

func numberOf(wrapping string) int64 {
	n, _ := strconv.ParseInt(strings.TrimPrefix(wrapping, wrappingPrefix), 10, 32)
	return n
}

// wrapping is the name of the secret in use, which is made where there is none.
func (s *Subjects) wrapping(ctx context.Context) (string, error) {
	if names := s.wrappings(); len(names) > 0 {
		return names[len(names)-1], nil
	}
	if err := s.addWrapping(ctx, 1); err != nil {
		return "", err
	}
	names := s.wrappings()
	return names[len(names)-1], nil
}

// addWrapping makes the secret of a number, unless another process does.
func (s *Subjects) addWrapping(ctx context.Context, number int64) error {
	secret := make([]byte, secretSize)
	if _, err := io.ReadFull(s.Random, secret); err != nil {
		return fmt.Errorf("make a wrapping secret: %w", err)
	}
	err := s.Secrets.Add(ctx, wrappingPrefix+strconv.FormatInt(number, 10), secret)
	if p, ok := problem.As(err); ok && p.Kind == problem.Conflict {
		return s.Secrets.Reload(ctx)
	}
	return err
}

// about is the associated data of a data key: it cannot be put in another's place, nor into another instance.
func (s *Subjects) about(k *SubjectKey) []byte {
	about := []byte("keepsake data key\x00" + s.instance + "\x00" + k.WorkspaceID + "\x00")
	about = append(about, k.Subject[:]...)
	return binary.BigEndian.AppendUint64(about, uint64(k.Generation))
}

func (s *Subjects) wrap(raw []byte, k *SubjectKey) error {
	secret, ok := s.Secrets.Find(k.With)
	if !ok {
		return ErrWrappingGone
	}
	box, err := subtle.NewAESGCM(secret)
	if err == nil {
		k.Wrapped, err = box.Encrypt(raw, s.about(k))
	}
	if err != nil {
		return fmt.Errorf("wrap a data key: %w", err)
	}
	return nil
}

func (s *Subjects) unwrapRaw(k *SubjectKey) ([]byte, error) {
	secret, ok := s.Secrets.Find(k.With)
	if !ok {
		return nil, ErrWrappingGone
	}
	box, err := subtle.NewAESGCM(secret)
	if err != nil {
		return nil, fmt.Errorf("open a data key: %w", err)
	}
	raw, err := box.Decrypt(k.Wrapped, s.about(k))
	if err != nil || len(raw) != secretSize {
		return nil, errors.New("a data key is damaged: restore the keys.db that belongs to this data")
	}
	return raw, nil
}

func (s *Subjects) unwrap(k *SubjectKey) (*DataKey, error) {
	raw, err := s.unwrapRaw(k)
	if err != nil {
		return nil, err
	}
	return newDataKey(k.Generation, raw)
}

// add makes data keys, and gives what there is of their subjects then.
func (s *Subjects) add(ctx context.Context, workspaceID string, missing []SubjectGeneration) ([]SubjectKey, error) {
	with, err := s.wrapping(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the wrapping secret: %w", err)
	}
	missing = slices.Clone(missing)
	slices.SortFunc(missing, func(a, b SubjectGeneration) int {
		if c := bytes.Compare(a.Subject[:], b.Subject[:]); c != 0 {
			return c
		}
		return int(a.Generation - b.Generation)
	})
	missing = slices.Compact(missing)
	keys := make([]SubjectKey, len(missing))
	raw, now := make([]byte, secretSize), s.Now()
	for i, m := range missing {
		if _, err := io.ReadFull(s.Random, raw); err != nil {
			return nil, fmt.Errorf("make a data key: %w", err)
		}
		keys[i] = SubjectKey{WorkspaceID: workspaceID, SubjectGeneration: m, With: with, CreatedAt: now}
		if err := s.wrap(raw, &keys[i]); err != nil {
			return nil, err
		}
	}
	return s.Store.AddSubjectKeys(ctx, workspaceID, keys)
}

// Renew makes a new wrapping secret, if there was one: data keys are under it from now on, and those that are not follow
// (Rewrap). It belongs to a change of the master key: who has the old one and an old keys file has the wrapping secrets
// of that time, and must not open with them what is written from now on.
func (s *Subjects) Renew(ctx context.Context) error {
	if err := s.Secrets.Reload(ctx); err != nil { // another process may have made some
		return fmt.Errorf("make a wrapping secret: %w", err)
	}
	names := s.wrappings()
	if len(names) == 0 {
		return nil
	}
	if err := s.addWrapping(ctx, numberOf(names[len(names)-1])+1); err != nil {
		return fmt.Errorf("make a wrapping secret: %w", err)
	}
	select {
	case s.wake <- struct{}{}:
	default: // it is about to look
	}
	return nil
}

// rewrapBatch is how many keys are wrapped anew in one unit: others wait for it.
const rewrapBatch = 256

// Rewrap wraps all data keys with the newest wrapping secret that are under another, and removes the others. Where it is cut
// off, the next one goes on: what is done needs no note of its own. Several processes may do it at once. It says how many
// keys it found.
func (s *Subjects) Rewrap(ctx context.Context) (n int, err error) {
	s.rewrapping.Lock()
	defer s.rewrapping.Unlock()
	names := s.wrappings()
	for len(names) > 1 {
		newest := names[len(names)-1]
		for _, old := range names[:len(names)-1] {
			some, err := s.rewrap(ctx, old, newest)
			n += some
			if err != nil {
				return n, fmt.Errorf("wrap data keys anew: %w", err)
			}
			err = s.Secrets.Remove(ctx, old)
			p, ok := problem.As(err)
			switch {
			case ok && p.Kind == problem.Conflict: // another process has just used it: once more
			case ok && p.Kind == problem.NotFound: // another process was quicker
				err = s.Secrets.Reload(ctx)
				fallthrough
			default:
				if err != nil {
					return n, fmt.Errorf("remove a wrapping secret: %w", err)
				}
			}
		}
		names = s.wrappings()
	}
	return n, nil
}

// rewrap wraps the keys under one secret with another, in the order of their names.
func (s *Subjects) rewrap(ctx context.Context, old, newest string) (n int, err error) {
	var after *SubjectKey
	for {
		keys, err := s.Store.SubjectKeysWith(ctx, old, after, rewrapBatch)
		if err != nil || len(keys) == 0 {
			return n, err
		}
		last := keys[len(keys)-1]
		after = &last
		for i := range keys {
			raw, err := s.unwrapRaw(&keys[i])
			if err != nil {
				return n, err
			}
			keys[i].With = newest
			if err := s.wrap(raw, &keys[i]); err != nil {
				return n, err
			}
		}
		if err := s.Store.RewrapSubjectKeys(ctx, old, keys); err != nil {
			return n, err
		}
		n += len(keys)
	}
}

// rewrapEvery is how often Run looks for keys that another process has left under an old secret.
const rewrapEvery = time.Minute

// Run wraps data keys anew whenever there are some to do, until ctx ends.
func (s *Subjects) Run(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(rewrapEvery)
	defer tick.Stop()
	for {
		n, err := s.Rewrap(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			log.WarnContext(ctx, "data keys were not all wrapped anew; it is tried again", "error", err.Error())
		case n > 0:
			log.InfoContext(ctx, "data keys were wrapped anew", "keys", n)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.wake:
		}
	}
}
