package usage

import "sync"

// owners maps handles to IDs. With 100,000 keys, many small strings would cost the garbage collector more than all
// recording costs. So the IDs are in one slice, and the handles contain no pointers.
type owners struct {
	mu         sync.Mutex
	list       []ownerIDs
	workspaces map[string]text
	ids        arena
}

type ownerIDs struct{ workspace, key text }

// arena contains short texts one after another; text is the position of one.
type arena []byte

type text struct {
	from   uint32
	length uint16
}

func (a *arena) add(s string) text {
	t := text{uint32(len(*a)), uint16(len(s))}
	*a = append(*a, s...)
	return t
}

func (a arena) text(t text) string { return string(a[t.from : t.from+uint32(t.length)]) }

func newOwners() *owners {
	o := &owners{workspaces: map[string]text{}}
	o.add("", "") // handle 0: no owner
	return o
}

func (o *owners) add(workspaceID, keyID string) Owner {
	o.mu.Lock()
	defer o.mu.Unlock()
	workspace, known := o.workspaces[workspaceID]
	if !known {
		workspace = o.ids.add(workspaceID)
		o.workspaces[workspaceID] = workspace
	}
	o.list = append(o.list, ownerIDs{workspace, o.ids.add(keyID)})
	return Owner(len(o.list) - 1)
}

// name returns the IDs of a handle.
func (o *owners) name(h Owner) (workspaceID, keyID string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.list[h]
	return o.ids.text(e.workspace), o.ids.text(e.key)
}

// routes maps handles to route templates. They are few and known at start.
type routes struct {
	mu   sync.Mutex
	list []template
}

type template struct{ method, path string }

// otherRoute is the handle of the route Other.
const otherRoute Route = 1

func newRoutes() *routes { return &routes{list: []template{{}, {path: Other}}} } // handle 0: no route

func (r *routes) add(t template) Route {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, known := range r.list {
		if known == t {
			return Route(i)
		}
	}
	r.list = append(r.list, t)
	return Route(len(r.list) - 1)
}

func (r *routes) name(h Route) template {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list[h]
}
