package backup

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"keepsake/internal/base/folder"
	"keepsake/internal/base/problem"
)

// Entry is a line of the journal: the state of a credential, or an erasure. A later entry of the same credential replaces
// earlier ones, except for what is final (see merge).
type Entry struct {
	Instance string     `json:"instance"`
	At       time.Time  `json:"at"`
	Key      *KeyState  `json:"apiKey,omitempty"`
	User     *UserState `json:"user,omitempty"`
	// Workspace concerns all credentials of the workspace.
	Workspace *WorkspaceState `json:"workspace,omitempty"`
	Subject   *ErasedSubject  `json:"erasedSubject,omitempty"`
	Memories  *ErasedMemories `json:"erasedMemories,omitempty"`
}

// id identifies what the entry is about.
func (e *Entry) id() string {
	switch {
	case e.Key != nil:
		return e.Key.ID
	case e.User != nil:
		return e.User.ID
	case e.Workspace != nil:
		return e.Workspace.ID
	case e.Subject != nil:
		return fmt.Sprintf("%s %x", e.Subject.WorkspaceID, e.Subject.Hash)
	case e.Memories != nil:
		return e.Memories.WorkspaceID + " " + strings.Join(e.Memories.IDs, " ")
	default:
		return ""
	}
}

// revision returns the revision of what the entry is about. gone means that it was deleted.
func (e *Entry) revision() (revision int64, gone bool) {
	switch {
	case e.Key != nil:
		return e.Key.Revision, false
	case e.User != nil:
		return e.User.Revision, e.User.Deleted
	case e.Workspace != nil:
		return e.Workspace.Revision, false
	case e.Subject != nil:
		return e.Subject.Generation, false
	default:
		return 0, false
	}
}

// skew is the largest expected difference between the clocks of processes that share a database.
const skew = time.Minute

// outlives reports whether e replaces another process' entry about the same credential. The later time wins, and within skew
// the higher revision. The revision alone would not do, because a restore resets it.
func (e *Entry) outlives(other *Entry) bool {
	after := e.At.Sub(other.At)
	mine, gone := e.revision()
	theirs, theirGone := other.revision()
	if e.Subject != nil { // an erasure is final
		return mine > theirs
	}
	switch {
	case after > skew || after < -skew:
		return after > 0
	case gone != theirGone:
		return gone
	case mine != theirs:
		return mine > theirs
	default:
		return after > 0 // one of the two was rolled back
	}
}

// merge returns the later of two entries with what is final in the earlier one: revocations, deletions and erasures, even if
// a restore in between undid them.
func merge(earlier, later Entry) Entry {
	switch {
	case later.Key != nil && earlier.Key != nil && later.Key.RevokedAt == nil && earlier.Key.RevokedAt != nil:
		k := *later.Key
		k.RevokedAt = earlier.Key.RevokedAt
		later.Key = &k
	case later.User != nil && earlier.User != nil && earlier.User.Deleted:
		return earlier
	case later.Subject != nil && earlier.Subject != nil:
		e := *later.Subject
		e.Generation = max(e.Generation, earlier.Subject.Generation)
		if e.At.Before(earlier.Subject.At) {
			e.At = earlier.Subject.At
		}
		later.Subject = &e
	}
	return later
}

// KeyState is the state of an API key, with keyed hashes of its secrets.
type KeyState struct {
	ID          string         `json:"id"`
	WorkspaceID string         `json:"workspaceId"`
	Revision    int64          `json:"revision"`
	Scopes      []string       `json:"scopes"`
	AllowedIPs  []netip.Prefix `json:"allowedIps,omitempty"`
	ExpiresAt   *time.Time     `json:"expiresAt,omitempty"`
	DisabledAt  *time.Time     `json:"disabledAt,omitempty"`
	RevokedAt   *time.Time     `json:"revokedAt,omitempty"`
	Secrets     []SecretState  `json:"secrets"`
}

// SecretState is one secret of a key.
type SecretState struct {
	Hash       []byte     `json:"hash"`
	Hint       string     `json:"hint"`
	CreatedAt  time.Time  `json:"createdAt"`
	ValidUntil *time.Time `json:"validUntil,omitempty"`
}

// UserState is the state of a user.
type UserState struct {
	ID           string `json:"id"`
	Revision     int64  `json:"revision"`
	Deleted      bool   `json:"deleted,omitempty"`
	Role         string `json:"role,omitempty"`
	Disabled     bool   `json:"disabled,omitempty"`
	PasswordHash string `json:"passwordHash,omitempty"`
}

// WorkspaceState is the state of a workspace.
type WorkspaceState struct {
	ID         string `json:"id"`
	Revision   int64  `json:"revision"`
	Suspended  bool   `json:"suspended"`
	Embeddings bool   `json:"embeddings"`
}

// ErasedSubject is a subject whose data keys were destroyed up to a generation.
type ErasedSubject struct {
	WorkspaceID string    `json:"workspaceId"`
	Hash        HexBytes  `json:"subject"` // a keyed hash
	Generation  int64     `json:"generation"`
	At          time.Time `json:"at"`
}

// ErasedMemories are erased memories of a subject.
type ErasedMemories struct {
	WorkspaceID string    `json:"workspaceId"`
	Hash        HexBytes  `json:"subject"`
	IDs         []string  `json:"ids"`
	At          time.Time `json:"at"`
}

// HexBytes are 16 bytes, in hex in JSON.
type HexBytes [16]byte

// MarshalText implements encoding.TextMarshaler.
func (h HexBytes) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *HexBytes) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(h) {
		return errors.New("not 16 bytes in hex")
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// Journal is an append-only file outside the databases and backups. It records changes of credentials and erasures, so that
// a restore can repeat them. It is safe for concurrent use.
//
// Each line is authenticated together with the line before it (see Signer), so a line that was added, changed, moved or
// removed is detected.
type Journal struct {
	path     string
	instance string
	now      func() time.Time

	mu     sync.Mutex
	signer *Signer // nil until Authenticate
	added  func()  // called after each entry, if not nil
	end    int64   // after the last complete line; -1: unknown
	last   mac     // of the last authenticated line, if end is known
}

// errReplaced means that the file is not the one that this process wrote.
var errReplaced = errors.New("the file was replaced under the running server: it lacks the last line that was written; " +
	"stop the server, put the newest copy back and start it")

// OpenJournal opens a journal, and creates it if necessary, so that a missing file later means a lost one. Call Authenticate
// before Append.
func OpenJournal(path, instance string, now func() time.Time) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	if err := errors.Join(f.Close(), folder.Sync(filepath.Dir(path))); err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return &Journal{path: path, instance: instance, now: now, end: -1}, nil
}

// Instance returns the instance whose journal it is.
func (j *Journal) Instance() string { return j.instance }

// Authenticate sets the signer and checks all lines. The error names the line that failed. The journal can still be appended to,
// because refusing changes would help an attacker who damaged it.
func (j *Journal) Authenticate(signer *Signer) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.signer, j.end = signer, -1
	_, err := readJournal(j.path, j.instance, signer)
	return err
}

// Append appends an entry durably. Call it within the transaction of the change, before the commit. If the commit then
// fails, the journal refuses too much, which is safe. An error is problem.Unavailable and fails the transaction.
func (j *Journal) Append(e Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Instance, e.At = j.instance, j.now().UTC()
	return j.add(e)
}

// Carry appends entries of other journals that this one lacks. After a database was restored by other tools, the next
// restore needs them.
func (j *Journal) Carry(entries []Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	own, err := readJournal(j.path, j.instance, j.signer)
	if err != nil {
		return err
	}
	held := map[string]Entry{}
	for _, e := range latest(own) {
		held[e.id()] = e
	}
	for _, e := range entries {
		if same(held[e.id()], e) {
			continue
		}
		if err := j.add(e); err != nil {
			return err
		}
	}
	return nil
}

// add appends an entry. The caller holds the lock.
func (j *Journal) add(e Entry) error {
	if j.signer == nil {
		return errors.New("backup: the journal has no signer yet")
	}
	if err := j.append(e); err != nil {
		return problem.NotAvailable("The journal cannot be written. Nothing was changed; try again later.", 2*time.Second).
			Because(fmt.Errorf("write the journal: %w", err))
	}
	return nil
}

func (j *Journal) append(e Entry) (err error) {
	f, err := os.OpenFile(j.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if j.end < 0 {
		data, err := os.ReadFile(j.path)
		if err != nil {
			return err
		}
		j.end = int64(bytes.LastIndexByte(data, '\n') + 1) // an incomplete line follows
		j.last = lastMAC(data[:j.end])
	} else if err := j.checkLast(f); err != nil {
		return err
	}
	line, sum, err := j.signer.line(e, j.last)
	if err != nil {
		return err
	}
	end := j.end
	j.end = -1 // until the write succeeds
	if err := f.Truncate(end); err != nil {
		return err
	}
	if _, err := f.WriteAt(line, end); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	j.end, j.last = end+int64(len(line)), sum
	if j.added != nil {
		j.added()
	}
	return nil
}

// OnAdd sets a function that is called after each entry, while the journal is locked. It must not wait.
func (j *Journal) OnAdd(fn func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.added = fn
}

// Head returns what authenticates the last line, or nil if there is none.
func (j *Journal) Head() ([]byte, error) {
	data, err := j.lines()
	if sum := lastMAC(data); err == nil && sum != (mac{}) {
		return sum[:], nil
	}
	return nil, err
}

// Holds reports whether the journal contains the line that head authenticates, and so all lines before it.
func (j *Journal) Holds(head []byte) (bool, error) {
	data, err := j.lines()
	for line := range bytes.Lines(data) {
		if _, sum, signed := splitLine(bytes.TrimSuffix(line, []byte("\n"))); signed && bytes.Equal(sum[:], head) {
			return true, nil
		}
	}
	return false, err
}

// lines returns the complete lines of the file.
func (j *Journal) lines() ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	data, err := os.ReadFile(j.path)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	return data[:bytes.LastIndexByte(data, '\n')+1], nil
}

// checkLast returns an error if f does not contain the last line of this process at its place. A replaced file must not
// grow, because a restore would take it for complete.
func (j *Journal) checkLast(f *os.File) error {
	want := []byte(macBegins + hex.EncodeToString(j.last[:]) + macEnds + "\n")
	got := make([]byte, len(want))
	_, err := f.ReadAt(got, j.end-int64(len(got)))
	if errors.Is(err, io.EOF) || err == nil && !bytes.Equal(got, want) {
		return errReplaced
	}
	return err
}

// Reading says how journals are read.
type Reading struct {
	Instance string
	Signer   *Signer
}

// Journal reads the entries of a journal. It refuses a journal of another instance, and a line that this instance did not
// write in that place. It ignores an incomplete last line, which a crash can leave.
func (r *Reading) Journal(path string) ([]Entry, error) {
	return readJournal(path, r.Instance, r.Signer)
}

func readJournal(path, instance string, signer *Signer) ([]Entry, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	var list []Entry
	var last mac
	for number := 1; ; number++ {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			return list, nil
		}
		body, sum, signed := splitLine(line)
		var e Entry
		if err := json.Unmarshal(body, &e); err != nil || e.id() == "" {
			return nil, fmt.Errorf("journal %s is damaged in line %d", path, number)
		}
		switch {
		case e.Instance != instance:
			return nil, fmt.Errorf("journal %s belongs to another instance", path)
		case !signed || !signer.wrote(body, last, sum):
			return nil, fmt.Errorf("journal %s, line %d %w", path, number, ErrForged)
		}
		list, data, last = append(list, e), rest, sum
	}
}

// Journals reads the journals of processes that shared a database, and merges their entries of each credential.
func (r *Reading) Journals(paths []string) ([]Entry, error) {
	place, list := map[string]int{}, []Entry{}
	for _, path := range paths {
		entries, err := r.Journal(path)
		if err != nil {
			return nil, err
		}
		for _, e := range latest(entries) {
			i, there := place[e.id()]
			switch {
			case !there:
				place[e.id()] = len(list)
				list = append(list, e)
			case e.outlives(&list[i]):
				list[i] = merge(list[i], e)
			default:
				list[i] = merge(e, list[i])
			}
		}
	}
	return list, nil
}

// WriteJournal writes the entries of a restore as the journal of the restored folder.
func WriteJournal(path string, entries []Entry, signer *Signer) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if err := writeEntries(f, entries, signer); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

// writeEntries writes entries, each authenticated with the one before, and closes f.
func writeEntries(f *os.File, entries []Entry, signer *Signer) error {
	var text bytes.Buffer
	var last mac
	for _, e := range entries {
		line, sum, err := signer.line(e, last)
		if err != nil {
			return errors.Join(err, f.Close())
		}
		text.Write(line)
		last = sum
	}
	_, err := f.Write(text.Bytes())
	return errors.Join(err, f.Sync(), f.Close())
}
