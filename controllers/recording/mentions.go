package recording

import (
	"bytes"
	"hash/maphash"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// minMention and maxMention are the lengths of texts that may be names. A shorter one is one in a field for names only.
const minMention, maxMention = 3, 127

// Mention is the hash of a text that may be the name of an object or a key of the form NAMESPACE/NAME.
type Mention uint32

// MentionOf returns how a name or key is mentioned, if it can be.
func MentionOf(name string) (m Mention, ok bool) {
	if name == "" || len(name) > maxMention {
		return 0, false
	}
	return Mention(maphash.String(mentionSeed, name)), true
}

// Mentions are the mentions in an encoded object: only their hashes, as those of many objects are kept.
type Mentions struct {
	sorted []Mention
	bits   MentionBits
}

// MentionBits have two bits for each mention: most texts are not mentioned, and need not be searched for.
type MentionBits [4]uint64

// MayHave is false if a name is not mentioned.
func (b *MentionBits) MayHave(name Mention) bool {
	other := name >> 8
	return b[name/64%4]&(1<<(name%64)) != 0 && b[other/64%4]&(1<<(other%64)) != 0
}

func (b *MentionBits) add(name Mention) {
	for _, bit := range [2]Mention{name, name >> 8} {
		b[bit/64%4] |= 1 << (bit % 64)
	}
}

func newMentions(sorted []Mention) (m Mentions) {
	m.sorted = sorted
	for _, name := range sorted {
		m.bits.add(name)
	}
	return m
}

// Bits returns the bits of all mentions.
func (m *Mentions) Bits() MentionBits { return m.bits }

var mentionSeed = maphash.MakeSeed()

// MentionsIn returns the mentions in an object in JSON or protobuf, at most so many. The
// object may be truncated.
func MentionsIn(data []byte, most int) Mentions {
	var room [256]Mention
	found := room[:0]
	if len(data) > 0 && data[0] == '{' {
		found = mentionsInJSON(found, data, most)
	} else {
		found = mentionsInProto(found, data, most)
	}
	found = found[:min(len(found), most)]
	slices.Sort(found)
	return newMentions(slices.Clone(slices.Compact(found)))
}

// JoinMentions returns what is in one of the lists.
func JoinMentions(lists ...Mentions) Mentions {
	var all []Mention
	for _, m := range lists {
		all = append(all, m.sorted...)
	}
	slices.Sort(all)
	return newMentions(slices.Compact(all))
}

// Has reports whether a name is mentioned.
func (m *Mentions) Has(name Mention) bool {
	if !m.bits.MayHave(name) {
		return false
	}
	_, found := slices.BinarySearch(m.sorted, name)
	return found
}

func isMention(length int) bool { return length >= minMention && length <= maxMention }

// pair is two texts after each other, of which the first one is what the second one is called, and the pair before.
type pair struct{ member, text, memberBefore, textBefore []byte }

func (p *pair) next(member, text []byte) { *p = pair{member, text, p.member, p.text} }

// key returns the key NAMESPACE/NAME of an object that the pairs name together, as the members name and namespace, or the
// labels example.com/site-name and example.com/site-namespace.
func (p *pair) key() (m Mention, ok bool) {
	namespace, name := p.text, p.textBefore
	switch {
	case isNamespaceOf(p.member, p.memberBefore):
	case isNamespaceOf(p.memberBefore, p.member):
		namespace, name = name, namespace
	default:
		return 0, false
	}
	return MentionOf(string(namespace) + "/" + string(name))
}

// isNamespaceOf reports whether a member is for the namespace of what another one is for the name of.
func isNamespaceOf(member, name []byte) bool {
	return len(member) == len(name)+len("space") && bytes.HasPrefix(member, name) &&
		bytes.HasSuffix(name, []byte("ame")) && bytes.HasSuffix(member, []byte("space"))
}

// mentionsInJSON takes each string, also the names of members with a string: those of a map may be names of objects. Other
// names of members are those of fields, which objects may have by chance, as they may the elements of a list that is not one
// of names or keys, and the text of a field "key", as of a value in a Secret or a store. The API server writes its field sets with
// a colon, in strings that begin so.
func mentionsInJSON(found []Mention, data []byte, most int) []Mention {
	var member, lastMember []byte // whose string follows, or a list of strings
	var last pair
	for len(found) < most {
		begin := bytes.IndexByte(data, '"')
		if begin < 0 {
			return found
		}
		if bytes.ContainsAny(data[:begin], "{}") { // an object begins or ends
			last = pair{}
		}
		data = data[begin+1:]
		length := textEnd(data)
		if length < 0 {
			return found
		}
		text := data[:length]
		data = data[length+1:]
		isMember, hasString := followingString(data)
		isNamed := bytes.HasSuffix(member, []byte("ame")) && length > 0
		isCounted := !isMember && string(member) != "key" && (member != nil || isOfNames(lastMember) || bytes.IndexByte(text, '/') > 0) || hasString
		if (isMention(length) || isNamed) && isCounted && (length < 2 || text[1] != ':') {
			found = append(found, Mention(maphash.Bytes(mentionSeed, text)))
		}
		if !isMember {
			last.next(member, text)
			if key, ok := last.key(); ok {
				found = append(found, key)
			}
		}
		if member = nil; hasString {
			member = text
		}
		if isMember {
			lastMember = text
		}
	}
	return found
}

// isOfNames reports whether a list is one of names, such as resourceNames.
func isOfNames(list []byte) bool {
	return bytes.HasSuffix(list, []byte("ame")) || bytes.HasSuffix(list, []byte("ames"))
}

// followingString reports whether the JSON string that precedes data is the name of a member, and whether that has a string.
func followingString(data []byte) (isMember, hasString bool) {
	value, isMember := bytes.CutPrefix(bytes.TrimLeft(data, " \n\r\t"), []byte{':'})
	return isMember, isMember && bytes.HasPrefix(bytes.TrimLeft(value, " \n\r\t"), []byte{'"'})
}

// textEnd returns where the JSON string ends whose first quotation mark precedes data; -1 if
// it is truncated.
func textEnd(data []byte) int {
	for end := 0; ; end++ {
		n := bytes.IndexByte(data[end:], '"')
		if n < 0 {
			return -1
		}
		end += n
		escapes := 0
		for escapes < end && data[end-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end
		}
	}
}

// mentionsInProto takes each text that follows its length. Of labels, a text and what it is called follow each other.
func mentionsInProto(found []Mention, data []byte, most int) []Mention {
	var last [3][]byte
	end := 0 // of the name bytes that at is among
	for at := 1; at < len(data) && len(found) < most; at++ {
		length := int(data[at-1])
		if !isMention(length) || !isNameByte[data[at]] {
			continue
		}
		if end <= at {
			end = endOfName(data, at)
		}
		if at+length > end {
			continue
		}
		text := data[at : at+length]
		found = append(found, Mention(maphash.Bytes(mentionSeed, text)))
		p := pair{last[2], text, last[0], last[1]}
		if key, ok := p.key(); ok {
			found = append(found, key)
		}
		last = [3][]byte{last[1], last[2], text}
		at += length
		if string(text) == fieldsFormat {
			at += fieldSetSize(data[at:])
		}
	}
	return found
}

// endOfName returns where the name bytes end that begin at an index.
func endOfName(data []byte, begin int) int {
	end := begin
	for end < len(data) && isNameByte[data[end]] {
		end++
	}
	return end
}

// fieldsFormat is the fieldsType of a ManagedFieldsEntry. The set of fields follows it: half of
// a typical object, in which nothing is named.
const fieldsFormat = "FieldsV1"

// fieldSetSize returns the size of the fieldsV1, field 7 of a ManagedFieldsEntry, at the beginning
// of data; 0 if that has something else.
func fieldSetSize(data []byte) int {
	if number, _, _ := protowire.ConsumeTag(data); number != 7 {
		return 0
	}
	return max(protowire.ConsumeFieldValue(7, protowire.BytesType, data[1:])+1, 0)
}

// isNameByte has the characters of names and of keys.
var isNameByte = func() (is [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-/:_") {
		is[c] = true
	}
	return is
}()
