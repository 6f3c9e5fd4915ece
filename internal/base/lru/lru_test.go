package lru_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"keepsake/internal/base/lru"
)

func TestTheLeastRecentlyUsedIsForgotten(t *testing.T) {
	t.Parallel()
	c := lru.New[string, int](2)
	a := c.Add("a", 1)
	c.Add("b", 2)
	if !c.Full() || *c.Get("a") != 1 || *c.Peek("b") != 2 {
		t.Fatal("two entries do not fit")
	}
	c.Add("c", 3) // b was only looked at
	if c.Get("b") != nil || *c.Get("a") != 1 || *c.Get("c") != 3 || c.Len() != 2 {
		t.Errorf("b should be forgotten; %d entries are left", c.Len())
	}
	c.Remove("a")
	if c.Get("a") != nil || *a != 1 {
		t.Error("a removed value must stay good for its holder")
	}
	if v := c.RemoveOldest(); v == nil || *v != 3 || c.RemoveOldest() != nil {
		t.Errorf("got %v, want the value of c, and then nothing", v)
	}
	*c.GetOrAdd("d") += 5
	*c.GetOrAdd("d") += 5
	if *c.Get("d") != 10 {
		t.Error("a value is not changed in place")
	}
	c.Clear()
	if c.Len() != 0 || c.Get("d") != nil || c.RemoveOldest() != nil {
		t.Error("Clear leaves entries")
	}
}

// A list of keys by use is the model.
func TestItForgetsWhatAListWould(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.IntRange(0, 5).Draw(t, "capacity")
		c := lru.New[int, int](capacity)
		var used []int // the last used one last
		forget := func(key int) { used = slices.DeleteFunc(used, func(k int) bool { return k == key }) }
		for range 100 {
			key := rapid.IntRange(0, 9).Draw(t, "key")
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				c.Remove(key)
				forget(key)
			case 1:
				c.RemoveOldest()
				used = used[min(1, len(used)):]
			case 2:
				c.Peek(key)
			default:
				*c.GetOrAdd(key) = key
				forget(key)
				if used = append(used, key); capacity > 0 && len(used) > capacity {
					used = used[1:]
				}
			}
			var got []int
			for k, v := range c.All() {
				if got = append(got, k); *v != k {
					t.Fatalf("%d has the value %d", k, *v)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, slices.Sorted(slices.Values(used))) || c.Len() != len(used) {
				t.Fatalf("has %v, want %v", got, used)
			}
		}
	})
}
