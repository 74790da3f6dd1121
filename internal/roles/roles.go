// Package roles makes RBAC roles of the permissions that a client has used.
package roles

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// For returns the roles that allow what the list has, first a ClusterRole and then a Role for each
// namespace, each with its binding if the client is a ServiceAccount. Whoever may watch may list, too: an informer
// that has received all objects by a watch lists them where the API server does not support that. They also have what Grants returns.
func For(list control.PermissionList) (objects []runtime.Object) {
	account, isAccount := serviceAccountOf(list.User)
	name := account.Name
	if !isAccount {
		name = objectName(observe.ProgramOf(list.Client))
	}
	scopes := rulesByNamespace(withLists(withGrants(list)))
	for _, namespace := range slices.Sorted(maps.Keys(scopes)) {
		meta := metav1.ObjectMeta{Name: name, Namespace: namespace}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}
		subjects := []rbacv1.Subject{account}
		if namespace == "" {
			ref.Kind = "ClusterRole"
			objects = append(objects, &rbacv1.ClusterRole{TypeMeta: typeMeta("ClusterRole"), ObjectMeta: meta, Rules: scopes[namespace]})
			if isAccount {
				objects = append(objects, &rbacv1.ClusterRoleBinding{TypeMeta: typeMeta("ClusterRoleBinding"), ObjectMeta: meta, RoleRef: ref, Subjects: subjects})
			}
			continue
		}
		objects = append(objects, &rbacv1.Role{TypeMeta: typeMeta("Role"), ObjectMeta: meta, Rules: scopes[namespace]})
		if isAccount {
			objects = append(objects, &rbacv1.RoleBinding{TypeMeta: typeMeta("RoleBinding"), ObjectMeta: meta, RoleRef: ref, Subjects: subjects})
		}
	}
	return objects
}

// Merge returns the permissions of several clients of a user as those of the first one.
func Merge(lists []control.PermissionList) control.PermissionList {
	all := lists[0]
	all.Items = slices.Clone(all.Items)
	for _, list := range lists[1:] {
		all.LeftOut += list.LeftOut
		for _, use := range list.Items {
			i := slices.IndexFunc(all.Items, func(known control.PermissionUse) bool { return known.Permission == use.Permission })
			if i < 0 {
				all.Items = append(all.Items, use)
				continue
			}
			all.Items[i].Requests += use.Requests
			all.Items[i].Refused += use.Refused
		}
	}
	return all
}

// IsServiceAccount reports whether a user name is that of a ServiceAccount.
func IsServiceAccount(user string) bool {
	_, is := serviceAccountOf(user)
	return is
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

// serviceAccountOf returns the ServiceAccount of a user name.
func serviceAccountOf(user string) (rbacv1.Subject, bool) {
	rest, ok := strings.CutPrefix(user, "system:serviceaccount:")
	namespace, name, both := strings.Cut(rest, ":")
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}, ok && both
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// objectName makes a name of an object of the name of a program.
func objectName(program string) string {
	return cmp.Or(strings.Trim(notInNames.ReplaceAllString(strings.ToLower(program), "-"), "-"), "client")
}

// withLists adds the permission to list what a client has watched.
func withLists(uses []control.PermissionUse) []control.PermissionUse {
	all := slices.Clone(uses)
	for _, use := range uses {
		list := use
		list.Verb = "list"
		isKnown := slices.ContainsFunc(uses, func(other control.PermissionUse) bool { return other.Permission == list.Permission })
		if use.Verb == "watch" && !isKnown {
			all = append(all, list)
		}
	}
	return all
}

// resource is what the verbs of a rule are for.
type resource struct{ group, name string }

// rulesByNamespace returns the rules of each namespace; those of "" are for all of them. What
// these allow is left out elsewhere.
func rulesByNamespace(uses []control.PermissionUse) map[string][]rbacv1.PolicyRule {
	scopes := map[string]map[resource][]string{}
	everywhere := map[control.Permission]bool{}
	for _, use := range uses {
		everywhere[use.Permission] = use.Namespace == ""
	}
	for _, use := range uses {
		wide := use.Permission
		wide.Namespace = ""
		if use.Namespace != "" && everywhere[wide] {
			continue
		}
		if scopes[use.Namespace] == nil {
			scopes[use.Namespace] = map[resource][]string{}
		}
		r := resource{use.Group, use.Resource}
		scopes[use.Namespace][r] = append(scopes[use.Namespace][r], use.Verb)
	}
	rules := map[string][]rbacv1.PolicyRule{}
	for namespace, of := range scopes {
		rules[namespace] = mergeRules(of)
	}
	return rules
}

// rankOf returns the place of a verb in a rule: others than those of requests come last.
func rankOf(verb string) int {
	if i := slices.Index(observe.Verbs, verb); i >= 0 {
		return i
	}
	return len(observe.Verbs)
}

// mergeRules returns one rule for all resources of a group that have the same verbs.
func mergeRules(of map[resource][]string) (rules []rbacv1.PolicyRule) {
	resources := slices.SortedFunc(maps.Keys(of), func(a, b resource) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.name, b.name))
	})
	for _, r := range resources {
		list := of[r]
		slices.SortFunc(list, func(a, b string) int {
			return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), cmp.Compare(a, b))
		})
		same := slices.IndexFunc(rules, func(rule rbacv1.PolicyRule) bool {
			return rule.APIGroups[0] == r.group && slices.Equal(rule.Verbs, list)
		})
		if same >= 0 {
			rules[same].Resources = append(rules[same].Resources, r.name)
			continue
		}
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.name}, Verbs: list})
	}
	return rules
}
