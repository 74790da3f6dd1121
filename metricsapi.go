package ctrlplane

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ctrlplane/ctrlplane/apiserver"
	"github.com/ctrlplane/ctrlplane/sim/metricsapi"
)

// metricsAPI is metrics.k8s.io as the API server serves it for simulated nodes.
func metricsAPI(disabled bool) apiserver.LocalAPI {
	return apiserver.LocalAPI{
		Disabled:           disabled,
		APIService:         metricsapi.APIService(),
		ClusterRoles:       []*rbacv1.ClusterRole{metricsapi.ClusterRole()},
		SetDefinitionNames: metricsapi.SetDefinitionNames,
		Install:            metricsapi.Install,
	}
}
