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

	"keepsake/internal/base/problem"
)

// wrappingPrefix is the prefix of the secrets that wrap data keys. A number follows, and the highest one is in use.
// There are several only until all data keys are rewrapped.
const wrappingPrefix = "subject-keys/"

// wrappings returns the names of the known wrapping secrets. The last one is in use.
func (s *Subjects) wrappings() []string {
	names := s.Secrets.Names(wrappingPrefix)
	slices.SortFunc(names, func(a, b string) int { return int(numberOf(a) - numberOf(b)) })
	return names
}

func numberOf(wrapping string) int64 {
	n, _ := strconv.ParseInt(strings.TrimPrefix(wrapping, wrappingPrefix), 10, 32)
	return n
}

// NumberedAfter reports whether both names are those of wrapping secrets and a has the higher number. Numbers are used
// once: a process can still have the removed secret of a number, and no other process can open what it wraps with that one.
func NumberedAfter(a, b string) bool {
	return strings.HasPrefix(a, wrappingPrefix) && strings.HasPrefix(b, wrappingPrefix) && numberOf(a) > numberOf(b)
}

// wrapping returns the name of the secret in use. It creates the first one.
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

// addWrapping creates the secret with a number, unless another process has created it or a later one.
func (s *Subjects) addWrapping(ctx context.Context, number int64) error {
	secret := make([]byte, secretSize)
	if _, err := io.ReadFull(s.Random, secret); err != nil {
		return fmt.Errorf("create a wrapping secret: %w", err)
	}
	err := s.Secrets.Add(ctx, wrappingPrefix+strconv.FormatInt(number, 10), secret)
	if p, ok := problem.As(err); ok && p.Kind == problem.Conflict {
		return s.Secrets.Reload(ctx)
	}
	return err
}

// about returns the associated data of a data key. It binds the ciphertext to the instance, the workspace, the subject
// and the generation.
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
	aead, err := newAEAD(secret)
	if err != nil {
		return fmt.Errorf("wrap a data key: %w", err)
	}
	k.Wrapped = encrypt(aead, raw, s.about(k))
	return nil
}

func (s *Subjects) unwrapRaw(k *SubjectKey) ([]byte, error) {
	secret, ok := s.Secrets.Find(k.With)
	if !ok {
		return nil, ErrWrappingGone
	}
	aead, err := newAEAD(secret)
	if err != nil {
		return nil, fmt.Errorf("open a data key: %w", err)
	}
	raw, err := decrypt(aead, k.Wrapped, s.about(k))
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

// add creates data keys and returns all keys of their subjects.
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
			return nil, fmt.Errorf("create a data key: %w", err)
		}
		keys[i] = SubjectKey{WorkspaceID: workspaceID, SubjectGeneration: m, With: with, CreatedAt: now}
		if err := s.wrap(raw, &keys[i]); err != nil {
			return nil, err
		}
	}
	return s.Store.AddSubjectKeys(ctx, workspaceID, keys)
}

// Renew creates the next wrapping secret, unless there is none yet. New data keys use it at once, and Rewrap moves the
// others. It is part of a change of the master key: an old master key and an old keys file give access to the old
// wrapping secrets, which must not open new data.
func (s *Subjects) Renew(ctx context.Context) error {
	if err := s.Secrets.Reload(ctx); err != nil { // another process may have made some
		return fmt.Errorf("create a wrapping secret: %w", err)
	}
	names := s.wrappings()
	if len(names) == 0 {
		return nil
	}
	if err := s.addWrapping(ctx, numberOf(names[len(names)-1])+1); err != nil {
		return fmt.Errorf("create a wrapping secret: %w", err)
	}
	select {
	case s.wake <- struct{}{}:
	default: // Run is already due
	}
	return nil
}

// rewrapBatch is the number of keys rewrapped in one transaction, which other writers wait for.
const rewrapBatch = 256

// Rewrap wraps all data keys with the newest wrapping secret, removes the other secrets, and returns how many keys it
// rewrapped. If it is interrupted, the next call continues: the rows themselves show the progress. Several processes
// can run it at once.
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
				return n, fmt.Errorf("rewrap data keys: %w", err)
			}
			err = s.Secrets.Remove(ctx, old)
			p, ok := problem.As(err)
			switch {
			case ok && p.Kind == problem.Conflict: // another process has just used it; try again
			case ok && p.Kind == problem.NotFound: // another process was faster
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

// rewrap wraps the keys under one secret with another, ordered by name.
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

// rewrapEvery is how often Run looks for keys that another process left under an old secret.
const rewrapEvery = time.Minute

// Run rewraps data keys whenever necessary, until ctx ends.
func (s *Subjects) Run(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(rewrapEvery)
	defer tick.Stop()
	for {
		n, err := s.Rewrap(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			log.WarnContext(ctx, "rewrapping data keys failed", "error", err.Error())
		case n > 0:
			log.InfoContext(ctx, "rewrapped data keys", "keys", n)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.wake:
		}
	}
}
