package memory_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory"
	"keepsake/internal/memory/seal"
	"keepsake/internal/testing/testtier"
)

func TestAnErasedSubjectIsGone(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		m := b.create(t, full("ada"))
		_, err := b.Changer.Change(t.Context(), anna, m.ID, memory.Change{Text: memory.SetTo("new")}, nil)
		noError(t, err)
		gone := b.create(t, say("deleted before"))
		noError(t, b.Eraser.Delete(t.Context(), anna, gone.ID, nil))
		b.create(t, memory.Memory{SubjectID: "bob", Text: "stays"})
		plan, err := b.Forgetter.Plan(t.Context(), anna, memory.Forget{SubjectID: "ada", Query: "new"})
		noError(t, err)
		b.pass(time.Second)

		receipt, err := b.SubjectEraser.Erase(t.Context(), anna, "ada")
		noError(t, err)
		if receipt.Memories != 1 || !receipt.ErasedAt.Equal(b.now()) || !receipt.KeyBackupsBefore.Equal(b.now()) {
			t.Errorf("got %+v", receipt)
		}
		payload, err := base64.RawURLEncoding.DecodeString(receipt.Signature)
		noError(t, err)
		var told map[string]any
		noError(t, json.Unmarshal(payload, &told))
		if told["receiptId"] != receipt.ID || told["memories"] != 1.0 || told["workspaceId"] != "wsp_a" || told["liveKeyDestroyed"] != true ||
			told["erasedAt"] != "2026-11-21T12:00:01.000Z" || told["keyBackupsBefore"] != "2026-11-21T12:00:01.000Z" || len(told) != 6 {
			t.Errorf("signed is %s", payload)
		}

		_, err = b.Reader.Memory(t.Context(), anna, m.ID)
		wantCode(t, err, problem.CodeNotFound)
		_, err = b.SubjectReader.Subject(t.Context(), anna, "ada")
		wantCode(t, err, problem.CodeNotFound)
		_, err = b.SubjectEraser.Erase(t.Context(), anna, "ada")
		wantCode(t, err, problem.CodeNotFound)
		_, err = b.Forgetter.Forget(t.Context(), anna, "ada", plan.ID)
		wantCode(t, err, problem.CodeNotFound)
		_, err = b.Exporter.Export(t.Context(), anna, "ada")
		wantCode(t, err, problem.CodeNotFound)
		wantTexts(t, b.list(t, anna, memory.Filter{}), "stays")
		hash := b.lookup.Subject("wsp_a", "ada")
		if _, err := b.keys.Find(t.Context(), "wsp_a", hash, 1); !errors.Is(err, seal.ErrDestroyed) {
			t.Errorf("the key is there: %v", err)
		}
		rows, err := b.store.Memories.MemoriesByID(t.Context(), "wsp_a", []string{m.ID})
		noError(t, err)
		older, err := b.store.Memories.MemoryRevisions(t.Context(), "wsp_a", []string{m.ID}, 0, 0)
		noError(t, err)
		row, err := b.store.Memories.MemorySubject(t.Context(), "wsp_a", hash)
		noError(t, err)
		if len(rows)+len(older) != 0 || row.SealedID != nil || row.Generation != 2 || row.ErasedAt == nil {
			t.Errorf("left are %v %v and %+v", rows, older, row)
		}
		erased, err := b.store.Memories.ErasedMemories(t.Context(), "wsp_a", hash, 1)
		noError(t, err)
		if len(erased) != 0 {
			t.Errorf("tombstones name the subject: %v", erased)
		}
		log, _, err := b.SubjectReader.AccessLog(t.Context(), anna, "ada", "", 50)
		noError(t, err)
		if len(log) < 5 {
			t.Errorf("the access log has %d rows", len(log))
		}

		// The subject may come back, under a new key. What was erased may not.
		again := b.create(t, say("again"))
		wantTexts(t, b.list(t, anna, memory.Filter{SubjectID: "ada"}), "again")
		person, err := b.SubjectReader.Subject(t.Context(), anna, "ada")
		noError(t, err)
		if person.Memories != 1 || !person.CreatedAt.Equal(again.CreatedAt) {
			t.Errorf("got %+v", person)
		}
		counts, err := b.Importer.Import(t.Context(), anna, lines(
			memory.ImportLine{Portable: memory.Portable{Memory: m}}, memory.ImportLine{Portable: memory.Portable{Memory: gone}},
		), true)
		noError(t, err)
		if counts.Failed != 2 || counts.Errors[0].Field != "id" || counts.Errors[1].Issue != string(problem.NotAllowed) {
			t.Errorf("importing them: %+v", counts)
		}
		if len(b.journal.subjects) != 1 || b.journal.subjects[0] != 1 {
			t.Errorf("the journal has %v", b.journal.subjects)
		}
	})
}

// keys is Keys that fail.
type failingKeys struct {
	memory.Keys
	fail bool
}

func (k *failingKeys) Destroy(ctx context.Context, workspaceID string, subject memory.Hash, upTo int64) error {
	if k.fail {
		return problem.NotAvailable("The disk is full.", time.Second)
	}
	return k.Keys.Destroy(ctx, workspaceID, subject, upTo)
}

// failingUnits fail at a unit.
type failingUnits struct {
	unit.Runner
	at int
}

func (u *failingUnits) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	if u.at--; u.at == 0 {
		return problem.NotAvailable("The disk is full.", time.Second)
	}
	return u.Runner.Run(ctx, fn)
}

func TestAnErasureThatIsCutOffIsBroughtToItsEnd(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		keys := &failingKeys{Keys: b.keys}
		units := &failingUnits{Runner: b.store}
		broken := b.with(func(o *memory.Options) { o.Keys, o.Units = keys, units })
		for i, cut := range []func(){
			func() { keys.fail = true },
			func() { units.at = 2 }, // the rows
			func() { units.at = 3 }, // the end
		} {
			for _, carryOn := range []string{"by the sweeper", "by the next request"} {
				subject := fmt.Sprint("ada", i, carryOn[3:6])
				m := b.create(t, memory.Memory{SubjectID: subject, Text: "x"})
				keys.fail, units.at = false, 0
				cut()
				_, err := broken.SubjectEraser.Erase(t.Context(), anna, subject)
				wantCode(t, err, problem.CodeUnavailable)
				_, err = b.Reader.Memory(t.Context(), anna, m.ID)
				wantCode(t, err, problem.CodeNotFound)
				if list := b.list(t, anna, memory.Filter{SubjectID: subject}); len(list) != 0 {
					t.Errorf("%q are still there", texts(list))
				}
				if carryOn == "by the sweeper" {
					noError(t, b.Sweeper.Sweep(t.Context(), b.now()))
				}
				receipt, err := b.SubjectEraser.Erase(t.Context(), anna, subject)
				noError(t, err)
				if receipt.Memories != 1 {
					t.Errorf("the receipt is %+v", receipt)
				}
				_, err = b.SubjectEraser.Erase(t.Context(), anna, subject)
				wantCode(t, err, problem.CodeNotFound)
				left, err := b.store.Memories.Erasures(t.Context())
				noError(t, err)
				if _, err := b.keys.Find(t.Context(), "wsp_a", b.lookup.Subject("wsp_a", subject), 1); !errors.Is(err, seal.ErrDestroyed) || len(left) != 0 {
					t.Errorf("the key: %v, under way are %v", err, left)
				}
			}
		}
	})
}

func TestReceiptCanBeRequestedForThirtyDays(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		keys := &failingKeys{Keys: b.keys}
		broken := b.with(func(o *memory.Options) { o.Keys = keys })
		for _, subject := range []string{"ada", "bob"} {
			b.create(t, memory.Memory{SubjectID: subject, Text: "x"})
			keys.fail = true
			_, err := broken.SubjectEraser.Erase(t.Context(), anna, subject)
			wantCode(t, err, problem.CodeUnavailable)
			keys.fail = false
		}
		destroyed := b.now()
		noError(t, b.Sweeper.Sweep(t.Context(), b.now()))
		b.pass(30*24*time.Hour - time.Millisecond)
		noError(t, b.Sweeper.Sweep(t.Context(), b.now()))
		receipt, err := b.SubjectEraser.Erase(t.Context(), anna, "ada")
		noError(t, err)
		if !receipt.ErasedAt.Equal(destroyed) || !receipt.KeyBackupsBefore.Equal(destroyed) {
			t.Errorf("the receipt is %+v", receipt)
		}
		b.pass(time.Millisecond)
		noError(t, b.Sweeper.Sweep(t.Context(), b.now()))
		_, err = b.SubjectEraser.Erase(t.Context(), anna, "bob")
		wantCode(t, err, problem.CodeNotFound)
	})
}

func TestReceiptIsThatOfTheLastErasure(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		keys := &failingKeys{Keys: b.keys, fail: true}
		broken := b.with(func(o *memory.Options) { o.Keys = keys })
		for round := range 2 {
			for i := range round + 1 {
				b.create(t, say(fmt.Sprint("text ", i)))
			}
			_, err := broken.SubjectEraser.Erase(t.Context(), anna, "ada")
			wantCode(t, err, problem.CodeUnavailable)
			noError(t, b.Sweeper.Sweep(t.Context(), b.now()))
			b.pass(time.Second)
		}
		receipt, err := b.SubjectEraser.Erase(t.Context(), anna, "ada")
		noError(t, err)
		if receipt.Memories != 2 {
			t.Errorf("the receipt is %+v", receipt)
		}
		_, err = b.SubjectEraser.Erase(t.Context(), anna, "ada")
		wantCode(t, err, problem.CodeNotFound)
	})
}

func TestReceiptSurvivesAFailedSignature(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		b.create(t, say("x"))
		broken := b.with(func(o *memory.Options) {
			o.Sign = func([]byte) (string, error) { return "", errors.New("no key") }
		})
		if _, err := broken.SubjectEraser.Erase(t.Context(), anna, "ada"); err == nil {
			t.Fatal("the receipt has no signature")
		}
		receipt, err := b.SubjectEraser.Erase(t.Context(), anna, "ada")
		noError(t, err)
		if receipt.Memories != 1 {
			t.Errorf("the receipt is %+v", receipt)
		}
	})
}

// Writers race an erasure, on two processes where the engine lets in another. Whatever comes of it, nothing is readable
// under the dead key, nothing that was acknowledged after the receipt is missing, and the counts are right.
func TestWritersRaceAnErasure(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bundle) {
		other := b
		if b.engine.Shared() {
			other = b.beside(t, b.engine)
		}
		for round := range testtier.Rounds(4, 12) {
			subject := fmt.Sprint("s", round)
			b.create(t, memory.Memory{SubjectID: subject, Text: "before"})
			var all sync.WaitGroup
			for w := range 4 {
				all.Go(func() {
					at := []*bundle{b, other}[w%2]
					for i := range 5 {
						_, err := at.put(t.Context(), anna, memory.Memory{SubjectID: subject, Text: fmt.Sprint("w", w, " ", i)})
						if err != nil && codeOf(err) != problem.CodeUnavailable {
							t.Errorf("write: %v", err)
						}
					}
				})
			}
			all.Go(func() {
				_, err := other.SubjectEraser.Erase(t.Context(), anna, subject)
				if codeOf(err) == problem.CodeUnavailable {
					// On a slow disk the file of the keys may be in use for too long. Then the sweeper carries on.
					err = other.Sweeper.Sweep(t.Context(), other.now())
				}
				if err != nil {
					t.Errorf("erase: %v", err)
				}
			})
			all.Wait()
			hash := b.lookup.Subject("wsp_a", subject)
			row, err := b.store.Memories.MemorySubject(t.Context(), "wsp_a", hash)
			noError(t, err)
			list := b.list(t, anna, memory.Filter{SubjectID: subject})
			rows, err := b.store.Memories.ListMemories(t.Context(), "wsp_a", &memory.RowFilter{Subject: hash, Now: b.now(), Limit: 100})
			noError(t, err)
			if row.Generation != 2 || row.Memories != int64(len(list)) || len(rows) != len(list) {
				t.Errorf("round %d: %+v, %d rows and %d memories", round, row, len(rows), len(list))
			}
			for _, m := range list {
				if m.Text == "before" {
					t.Error("what was before is there")
				}
			}
			if _, err := other.keys.Find(t.Context(), "wsp_a", hash, 1); !errors.Is(err, seal.ErrDestroyed) {
				t.Errorf("the old key: %v", err)
			}
			n, err := b.store.Memories.MemoryCount(t.Context(), "wsp_a")
			noError(t, err)
			if all := b.list(t, anna, memory.Filter{Limit: 1000}); int64(len(all)) != n {
				t.Errorf("round %d: %d memories, counted are %d", round, len(all), n)
			}
		}
	})
}

// Many write one key at once: there is one memory, with a revision for each.
func TestWritersOfOneKeyFollowEachOther(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bundle) {
		other := b
		if b.engine.Shared() {
			other = b.beside(t, b.engine)
		}
		const writers, each = 6, 5
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range each {
					_, err := []*bundle{b, other}[w%2].put(t.Context(), anna, memory.Memory{SubjectID: "ada", Key: "k", Text: fmt.Sprint(w, " ", i)})
					if err != nil {
						t.Errorf("write: %v", err)
					}
					if _, err := []*bundle{b, other}[w%2].put(t.Context(), anna, say("the same")); err != nil {
						t.Errorf("write: %v", err)
					}
				}
			})
		}
		all.Wait()
		list := b.list(t, anna, memory.Filter{SubjectID: "ada"})
		if len(list) != 2 {
			t.Fatalf("there are %q", texts(list))
		}
		keyed := list[0]
		if keyed.Key == "" {
			keyed = list[1]
		}
		history, _, err := b.Reader.History(t.Context(), anna, keyed.ID, 0, 100)
		noError(t, err)
		seen := map[string]bool{}
		for i, m := range history {
			seen[m.Text] = true
			if m.Revision != int64(writers*each-i) {
				t.Errorf("place %d is revision %d", i, m.Revision)
			}
		}
		if len(seen) != writers*each {
			t.Errorf("%d different revisions, want %d", len(seen), writers*each)
		}
	})
}

// Batches over the same subjects in other orders wait for each other, and never in a circle.
func TestBatchesOfTheSameSubjectsDoNotLockEachOther(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bundle) {
		other := b
		if b.engine.Shared() {
			other = b.beside(t, b.engine)
		}
		var all sync.WaitGroup
		for w := range 6 {
			all.Go(func() {
				for round := range 4 {
					var list []memory.Memory
					for i := range 30 {
						at := i
						if w%2 == 0 {
							at = 29 - i
						}
						list = append(list, memory.Memory{SubjectID: fmt.Sprint("s", (at+round)%30), Text: fmt.Sprint(w, " ", round, " ", i)})
					}
					results, err := []*bundle{b, other}[w%2].batch(t.Context(), anna, false, list...)
					if err != nil {
						t.Errorf("write: %v", err)
					}
					for _, r := range results {
						if r.Err != nil {
							t.Errorf("an item: %v", r.Err)
						}
					}
				}
			})
		}
		all.Wait()
		n, err := b.store.Memories.MemoryCount(t.Context(), "wsp_a")
		noError(t, err)
		if n != 6*4*30 {
			t.Errorf("%d memories, want %d", n, 6*4*30)
		}
	})
}

// firstUnit calls before ahead of the first transaction.
type firstUnit struct {
	unit.Runner
	before func()
}

func (u *firstUnit) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	if before := u.before; before != nil {
		u.before = nil
		before()
	}
	return u.Runner.Run(ctx, fn)
}

func TestSecondErasureJoinsTheFirst(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		b.create(t, say("x"))
		first := b.with(func(o *memory.Options) { o.Keys = &failingKeys{Keys: b.keys, fail: true} }) // it begins, and does not finish
		second := b.with(func(o *memory.Options) {
			o.Units = &firstUnit{Runner: b.store, before: func() {
				_, err := first.SubjectEraser.Erase(t.Context(), anna, "ada")
				wantCode(t, err, problem.CodeUnavailable)
			}}
		})
		receipt, err := second.SubjectEraser.Erase(t.Context(), anna, "ada")
		noError(t, err)
		if receipt.Memories != 1 {
			t.Errorf("the receipt is %+v", receipt)
		}
	})
}

func TestErasureInATransactionIsRefused(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		b.create(t, say("x"))
		undo := errors.New("undo")
		err := b.store.Run(t.Context(), func(ctx context.Context) error {
			_, err := b.SubjectEraser.Erase(ctx, anna, "ada")
			return errors.Join(err, undo)
		})
		if !errors.Is(err, undo) {
			t.Fatal(err)
		}
		wantTexts(t, b.list(t, anna, memory.Filter{SubjectID: "ada"}), "x")
	})
}

// afterFind calls after behind the first data key that is found.
type afterFind struct {
	memory.Keys
	after func()
}

func (k *afterFind) Find(ctx context.Context, workspaceID string, subject memory.Hash, generation int64) (*seal.DataKey, error) {
	key, err := k.Keys.Find(ctx, workspaceID, subject, generation)
	if after := k.after; after != nil {
		k.after = nil
		after()
	}
	return key, err
}

// cachedWords returns the number of words in the cache of a service's analyzer.
func cachedWords(s *memory.Service) (n int) {
	slots := reflect.ValueOf(s.Caches).Elem().FieldByName("words").Elem().FieldByName("forms").Elem().FieldByName("slots")
	for i := range slots.Len() {
		if !slots.Index(i).FieldByName("v").IsNil() {
			n++
		}
	}
	return n
}

func TestErasedWordsDoNotReturnToTheCache(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		for name, read := range map[string]func(b *bundle) error{
			"context": func(b *bundle) error {
				_, err := b.Recaller.Context(t.Context(), anna, memory.ContextQuery{RecallQuery: memory.RecallQuery{SubjectID: "ada"}, MaxTokens: 100})
				return err
			},
			"forget by a query": func(b *bundle) error {
				_, err := b.Forgetter.Plan(t.Context(), anna, memory.Forget{SubjectID: "ada", Query: "canary"})
				return err
			},
		} {
			b.create(t, say("canaries were singing"))
			keys := &afterFind{Keys: b.keys}
			reading := recalling(b).with(func(o *memory.Options) { o.Keys = keys })
			keys.after = func() {
				_, err := reading.SubjectEraser.Erase(t.Context(), anna, "ada")
				noError(t, err)
			}
			noError(t, read(reading))
			if n := cachedWords(reading.Service); n != 0 {
				t.Errorf("%s: %d words are in the cache", name, n)
			}
		}
	})
}

// While the storage is silent, an erasure ends with its request's time, and the Sweeper completes it. Its client can leave before.
func TestAnErasureEndsWithItsRequestsTime(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		b.create(t, say("x"))
		silent := b.with(func(o *memory.Options) {
			o.DropKey = func(ctx context.Context, _ string, _ memory.Hash) error {
				<-ctx.Done() // without a deadline, for ever
				return ctx.Err()
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := silent.SubjectEraser.Erase(ctx, anna, "ada")
		wantCode(t, err, problem.CodeUnavailable)
		if list := b.list(t, anna, memory.Filter{SubjectID: "ada"}); len(list) != 0 {
			t.Errorf("still readable: %q", texts(list))
		}
		b.pass(time.Hour)
		noError(t, b.Sweeper.Sweep(t.Context(), b.now()))
		receipt, err := b.SubjectEraser.Erase(t.Context(), anna, "ada")
		noError(t, err)
		if receipt.Memories != 1 {
			t.Errorf("the receipt is %+v", receipt)
		}
	})
}

func TestReadsAboutAnUnknownSubjectAreLogged(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		b = recalling(b)
		b.create(t, memory.Memory{SubjectID: "erased", Text: "x"})
		_, err := b.SubjectEraser.Erase(t.Context(), anna, "erased")
		noError(t, err)
		for _, subject := range []string{"unknown", "erased"} {
			for _, p := range []*auth.Principal{anna, ofCoach} {
				before := len(b.actions(t, "wsp_a", subject))
				_, err := b.Recaller.Recall(t.Context(), p, memory.RecallQuery{SubjectID: subject, Query: "x"})
				noError(t, err)
				_, err = b.Recaller.Context(t.Context(), p, memory.ContextQuery{RecallQuery: memory.RecallQuery{SubjectID: subject}})
				noError(t, err)
				if p == anna {
					_, _, err = b.Reader.List(t.Context(), p, memory.Filter{SubjectID: subject, Limit: 10})
					noError(t, err)
					_, err = b.SubjectReader.Subject(t.Context(), p, subject)
					wantCode(t, err, problem.CodeNotFound)
					_, err = b.Exporter.Export(t.Context(), p, subject)
					wantCode(t, err, problem.CodeNotFound)
				}
				want := []audit.Action{audit.MemoryExported, audit.SubjectRead, audit.MemoryListed, audit.MemoryContext, audit.MemoryRecalled}
				if p != anna {
					want = want[3:]
				}
				got := b.actions(t, "wsp_a", subject)
				if got = got[:len(got)-before]; !slices.Equal(got, want) {
					t.Errorf("%s by %s: %v, want %v", subject, p.UserID, got, want)
				}
				if p == anna && subject == "erased" {
					rows, _, err := b.SubjectReader.AccessLog(t.Context(), p, subject, "", 2)
					noError(t, err)
					for _, row := range rows {
						if row.Outcome != audit.Failed {
							t.Errorf("%s of an erased person is recorded as %s", row.Action, row.Outcome)
						}
					}
				}
			}
		}
	})
}
