package ctrlplane

// KubernetesVersion is the release of Kubernetes that this is built on.
const KubernetesVersion = "v1.37.1"

// dataVersion is the format of the data folder that this writes, and the
// highest that it reads.
const dataVersion = 1
