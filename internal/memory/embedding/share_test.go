package embedding_test

import (
	"math/rand/v2"
	"testing"

	"keepsake/internal/memory/embedding"
)

func TestAWorkspaceIsGrantedItsShareOfADay(t *testing.T) {
	t.Parallel()
	const query, memories = embedding.ForQuery, embedding.ForMemories
	for _, c := range []struct {
		name                     string
		usage                    embedding.Usage
		kind                     embedding.Kind
		wanted, granted, ownPart int64
	}{
		{"the first half is free", embedding.Usage{Workspaces: 4, Limit: 100}, memories, 50, 50, 0},
		{"beyond it, a share", embedding.Usage{Workspaces: 4, Limit: 100}, memories, 80, 60, 10},
		{"with the reserve, a query has a larger one", embedding.Usage{Workspaces: 4, Limit: 100}, query, 80, 62, 12},
		{"the share is used", embedding.Usage{Texts: 60, Own: 10, Workspaces: 4, Limit: 100}, memories, 1, 0, 0},
		{"queries still fit", embedding.Usage{Texts: 60, Own: 10, Workspaces: 4, Limit: 100}, query, 1, 1, 1},
		{"another workspace has its own", embedding.Usage{Texts: 60, Workspaces: 4, Limit: 100}, memories, 64, 10, 10},
		{"a single workspace has all but the reserve", embedding.Usage{Workspaces: 1, Limit: 100}, memories, 200, 90, 40},
		{"and the reserve for queries", embedding.Usage{Texts: 90, Own: 40, Workspaces: 1, Limit: 100}, query, 200, 10, 10},
		{"nothing is left", embedding.Usage{Texts: 100, Workspaces: 1, Limit: 100}, query, 1, 0, 0},
		{"the limit was lowered", embedding.Usage{Texts: 100, Workspaces: 2, Limit: 10}, query, 1, 0, 0},
		{"more workspaces than texts", embedding.Usage{Texts: 5, Workspaces: 90, Limit: 10}, memories, 3, 1, 1},
		{"a limit of one", embedding.Usage{Workspaces: 2, Limit: 1}, memories, 3, 1, 1},
	} {
		if granted, own := c.usage.Grant(c.kind, c.wanted); granted != c.granted || own != c.ownPart {
			t.Errorf("%s: granted %d, of these %d as its own; want %d, %d", c.name, granted, own, c.granted, c.ownPart)
		}
	}
}

// FuzzNoWorkspaceTakesTheShareOfAnother lets workspaces ask in any order. However much the others take, each one can then send what
// its share has room for, queries also after all back-fills, and the limit holds.
func FuzzNoWorkspaceTakesTheShareOfAnother(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed, int64(1+seed*7), uint8(1+seed%9))
	}
	f.Fuzz(func(t *testing.T, seed uint64, limit int64, workspaces uint8) {
		if limit < 1 || limit > 1<<40 || workspaces == 0 {
			t.Skip()
		}
		random := rand.New(rand.NewPCG(seed, 1))
		own := make([]int64, workspaces)
		u := embedding.Usage{Workspaces: int64(workspaces), Limit: limit}
		ask := func(i int, kind embedding.Kind, wanted int64) int64 {
			u.Own = own[i]
			granted, mine := u.Grant(kind, wanted)
			if granted < 0 || mine < 0 || mine > granted || granted > wanted || u.Texts+granted > limit {
				t.Fatalf("%+v: granted %d, %d of %d", u, granted, mine, wanted)
			}
			u.Texts, own[i] = u.Texts+granted, own[i]+mine
			return granted
		}
		late := int(workspaces) - 1 // asks last
		for range 40 {
			if late == 0 {
				break
			}
			kind := embedding.ForMemories
			if random.IntN(3) == 0 {
				kind = embedding.ForQuery
			}
			ask(random.IntN(late), kind, 1+random.Int64N(limit))
		}
		reserve := limit / 10
		share := (limit - limit/2) / int64(workspaces)
		if got := ask(late, embedding.ForMemories, limit); got < share-reserve/int64(workspaces)-1 {
			t.Errorf("%d of %d are left for the memories of the last of %d workspaces", got, limit, workspaces)
		}
		if got := ask(late, embedding.ForQuery, limit); got < reserve/int64(workspaces)-1 {
			t.Errorf("%d of %d are left for the queries of the last of %d workspaces", got, limit, workspaces)
		}
	})
}
