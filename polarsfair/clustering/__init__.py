"""Validation of clusterings."""

from polarsfair._compare import difference, group_max, group_min, ratio
from polarsfair.clustering._choose import choose_k, gap, stability
from polarsfair.clustering._contingency import contingency
from polarsfair.clustering._edges import edge_modularity, edge_normalized_cut, edges
from polarsfair.clustering._estimate import silhouette_estimate
from polarsfair.clustering._hopkins import hopkins
from polarsfair.clustering._information import (
    adjusted_mutual_information,
    completeness,
    conditional_entropy,
    entropy,
    homogeneity,
    joint_entropy,
    mutual_information,
    nmi,
    v_measure,
    variation_of_information,
)
from polarsfair.clustering._matching import (
    f_measure,
    f_measure_by_cluster,
    maximum_matching,
    purity,
    purity_by_cluster,
)
from polarsfair.clustering._moments import (
    calinski_harabasz,
    davies_bouldin,
    dunn_centroid,
    moments,
)
from polarsfair.clustering._pairs import (
    adjusted_rand,
    fowlkes_mallows,
    hubert,
    jaccard,
    normalized_hubert,
    pair_counts,
    rand,
)
from polarsfair.clustering._radii import radii
from polarsfair.clustering._ranks import c_index, dunn, extremes, order
from polarsfair.clustering._scatter import scatter
from polarsfair.clustering._separation import (
    beta_cv,
    hubert_distances,
    modularity,
    normalized_cut,
    normalized_hubert_distances,
)
from polarsfair.clustering._silhouette_rows import silhouette_samples
from polarsfair.clustering._silhouettes import silhouette, silhouette_by_cluster, silhouettes
from polarsfair.clustering._tendency import distance_distribution, spatial_histogram
from polarsfair.clustering._volumes import volumes

__all__ = [
    "adjusted_mutual_information",
    "adjusted_rand",
    "beta_cv",
    "c_index",
    "calinski_harabasz",
    "choose_k",
    "completeness",
    "conditional_entropy",
    "contingency",
    "davies_bouldin",
    "difference",
    "distance_distribution",
    "dunn",
    "dunn_centroid",
    "edge_modularity",
    "edge_normalized_cut",
    "edges",
    "entropy",
    "extremes",
    "f_measure",
    "f_measure_by_cluster",
    "fowlkes_mallows",
    "gap",
    "group_max",
    "group_min",
    "homogeneity",
    "hopkins",
    "hubert",
    "hubert_distances",
    "jaccard",
    "joint_entropy",
    "maximum_matching",
    "modularity",
    "moments",
    "mutual_information",
    "nmi",
    "normalized_cut",
    "normalized_hubert",
    "normalized_hubert_distances",
    "order",
    "pair_counts",
    "purity",
    "purity_by_cluster",
    "radii",
    "rand",
    "ratio",
    "scatter",
    "silhouette",
    "silhouette_by_cluster",
    "silhouette_estimate",
    "silhouette_samples",
    "silhouettes",
    "spatial_histogram",
    "stability",
    "v_measure",
    "variation_of_information",
    "volumes",
]
