"""What metrics and roles are called elsewhere, and what they are called here.

Elsewhere: Fairlearn, AIF360, scikit-learn, Jurity, HolisticAI, Aequitas, SageMaker Clarify,
RecTools, ranx, RecBole, RePlay, Spark, and textbooks. None of these names is accepted: messages
and the catalogue say which of ours to write. A name is found whatever its case and underscores; if
it is listed in several cases, such as ``AP`` and ``ap``, each of them is itself.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES: Mapping[str, str] = {
    "pf.by_group": "Audit by_group_values Group group_metrics metric_frame MetricFrame",
    "pf.difference": "make_derived_metric",
    "pf.evaluate": (
        "bias_report calc_metrics classification_bias_metrics CombinedMetrics "
        "get_all_scores regression_bias_metrics report"
    ),
    "pf.group_max": "group_maximum",
    "pf.group_min": "group_minimum worst_group",
    "fairness.abroca": "absolute_between_roc_area roc_area_between",
    "fairness.accuracy": "acc accuracy_score error_rate hamming_loss zero_one_loss",
    "fairness.accuracy_difference": (
        "accuracy_diff accuracy_parity accuracy_score_difference AD ad error_rate_difference "
        "overall_accuracy_equality zero_one_loss_difference"
    ),
    "fairness.auc": "areaUnderROC AUC auroc c_statistic concordance roc_auc roc_auc_score",
    "fairness.average_abs_odds": (
        "average_abs_odds_difference average_absolute_odds average_odds_error equalized_odds_mean"
    ),
    "fairness.average_odds": (
        "aod average_odds_diff average_odds_difference AverageOdds avg_odds_diff"
    ),
    "fairness.average_precision": "ap areaUnderPR auprc average_precision_score pr_auc",
    "fairness.balanced_accuracy": "bacc balanced_accuracy_score bcr",
    "fairness.base_rate": "default_rate event_rate label_rate positive_label_rate prev prevalence",
    "fairness.brier": "brier_score brier_score_loss mean_squared_probability_error",
    "fairness.calibration": "calibration_curve reliability_curve reliability_diagram",
    "fairness.class_imbalance": "CI facet_imbalance",
    "fairness.classes": "confusion_tensor multiclass_confusion_matrix",
    "fairness.cluster_balance": "balance fairlet_balance",
    "fairness.cluster_entropy": "cluster_dist_entropy",
    "fairness.cluster_kl": "cluster_dist_kl",
    "fairness.cluster_total_variation": "cluster_dist_l1",
    "fairness.coefficient_of_variation": "cov_of_benefits cv",
    "fairness.cohen_d": "cohens_d effect_size smd standardized_mean_difference",
    "fairness.cohen_kappa": "cohen_kappa_score cohens_kappa kappa",
    "fairness.conditional_demographic_disparity": (
        "CDD cdd CDDL CDDPL conditional_demographic_parity conditional_statistical_parity"
    ),
    "fairness.consistency": "consistency_score individual_fairness knn_consistency yNN",
    "fairness.consistency_estimate": "consistency_sample",
    "fairness.correlation_difference": "correlation_diff",
    "fairness.decisions": (
        "binary_confusion_matrix confusion_matrix contingency_table crosstab fn fp "
        "get_crosstabs tn tp"
    ),
    "fairness.disparate_impact": (
        "adverse_impact adverse_impact_ratio air demographic_parity_ratio DI di "
        "disparate_impact_ratio DisparateImpact dp_ratio impact_ratio p_percent_rule p_rule "
        "pprev_disparity relative_risk risk_ratio selection_rate_ratio"
    ),
    "fairness.equal_opportunity": (
        "eod equal_opportunity_diff equal_opportunity_difference EqualOpportunity RD rd "
        "recall_difference sensitivity_difference tpr_difference tpr_gap tpr_parity "
        "true_positive_rate_difference"
    ),
    "fairness.equalized_odds": (
        "eo_difference equal_odds equalised_odds equalized_odds_difference "
        "EqualizedOddsDifference separation"
    ),
    "fairness.expected_calibration_error": "calibration_error ECE ece",
    "fairness.f1": "dice F1 f1_score f_measure_of_decisions f_score fscore",
    "fairness.false_discovery_rate": "FDR fdr",
    "fairness.false_negative_rate": "FNR fnr miss_rate type_2_error type_ii_error",
    "fairness.false_omission_rate": "fomr FOR for",
    "fairness.false_positive_rate": (
        "fall_out fallout false_alarm_rate FPR fpr type_1_error type_i_error"
    ),
    "fairness.fdr_difference": "false_discovery_rate_difference fdr_parity",
    "fairness.fnr_difference": (
        "false_negative_rate_diff false_negative_rate_difference fnr_gap fnr_parity "
        "FNRDifference miss_rate_difference"
    ),
    "fairness.for_difference": "false_omission_rate_difference for_parity FORDifference",
    "fairness.four_fifths": (
        "4_5_rule 80_percent_rule eighty_percent_rule four_fifths_ratio four_fifths_rule "
        "impact_parity"
    ),
    "fairness.frequency_by_class": "frequency_matrix",
    "fairness.generalized_entropy": (
        "GE ge gei generalized_entropy_error generalized_entropy_index GeneralizedEntropyIndex"
    ),
    "fairness.generalized_entropy_between": (
        "between_all_groups_generalized_entropy_index between_group_generalized_entropy_error "
        "between_group_generalized_entropy_index"
    ),
    "fairness.gini": "accuracy_ratio gini_coefficient somers_d",
    "fairness.ks": "kolmogorov_smirnov ks_statistic",
    "fairness.label_js": "jensen_shannon JS js js_divergence",
    "fairness.label_kl": "KL kl kl_divergence relative_entropy",
    "fairness.label_ks": "inf_norm infinity_norm KS",
    "fairness.label_lp": "LP lp lp_norm",
    "fairness.label_total_variation": "total_var_dist total_variation_distance TVD tvd",
    "fairness.log_loss": "binary_cross_entropy cross_entropy logloss",
    "fairness.macro_f1": "f1_macro macro_f1_score MacroF1",
    "fairness.macro_recall": "macro_sensitivity multiclass_balanced_accuracy recall_macro",
    "fairness.mae": "MAE mean_absolute_error",
    "fairness.mcc": "matthews matthews_corrcoef matthews_correlation MCC phi_coefficient",
    "fairness.mean_difference": (
        "average_score_difference avg_score_diff mean_gap mean_score_difference"
    ),
    "fairness.mean_ratio": "avg_score_ratio",
    "fairness.mitigation": (
        "BinaryMitigation debias EqOddsPostprocessing equalized_odds_postprocessing "
        "postprocessing repair threshold_optimizer ThresholdOptimizer"
    ),
    "fairness.multiclass_accuracy": "multiclass_accuracy_score",
    "fairness.multiclass_equal_opportunity": "multiclass_equality_of_opp",
    "fairness.multiclass_stat_parity": "multiclass_statistical_parity",
    "fairness.multiclass_true_positive_difference": "multiclass_true_rates",
    "fairness.negative_predictive_value": "NPV npv",
    "fairness.npv_difference": "DRR drr negative_predictive_value_difference npv_parity",
    "fairness.precision": "positive_predictive_value PPV ppv precision_score",
    "fairness.precision_by_class": "precisionByLabel recall_matrix",
    "fairness.precision_recall": "pr_curve precision_recall_curve",
    "fairness.predictive_equality": (
        "fall_out_difference false_positive_rate_diff false_positive_rate_difference "
        "fpr_difference fpr_gap fpr_parity PredictiveEquality"
    ),
    "fairness.predictive_parity": (
        "DAR dar outcome_test ppv_difference precision_difference precision_parity "
        "predictive_parity_difference sufficiency"
    ),
    "fairness.quantile_disparate_impact": "disparate_impact_regression",
    "fairness.quantile_stat_parity": "statistical_parity_regression",
    "fairness.r2": "coefficient_of_determination R2 r2_score r_squared",
    "fairness.recall_by_class": "precision_matrix recallByLabel truePositiveRateByLabel",
    "fairness.rmse": "mean_squared_error mse RMSE root_mean_squared_error",
    "fairness.roc": "plot_roc_curve_by_group roc_curve",
    "fairness.selection_rate": (
        "acceptance_rate approval_rate hit_ratio positive_prediction_rate positive_rate ppr "
        "pprev predicted_positive_rate predicted_prevalence success_rate"
    ),
    "fairness.silhouette_difference": "silhouette_diff",
    "fairness.social_fairness_ratio": "social_fairness",
    "fairness.stat_parity": (
        "acceptance_rate_difference demographic_parity demographic_parity_diff "
        "demographic_parity_difference dp_difference dpd DPPL dppl group_fairness "
        "independence mean_difference_of_rates parity_gap risk_difference selection_gap "
        "selection_rate_difference spd statistical_parity statistical_parity_difference "
        "StatisticalParity"
    ),
    "fairness.theil": "theil_index theil_t TheilIndex",
    "fairness.theil_between": "between_all_groups_theil_index between_group_theil_index",
    "fairness.thresholds": "confusion_matrix_at_thresholds metric_at_thresholds threshold_curve",
    "fairness.tnr_difference": (
        "SD specificity_difference tnr_parity true_negative_rate_diff true_negative_rate_difference"
    ),
    "fairness.treatment_equality": "fn_fp_ratio TE treatment_equality_difference",
    "fairness.true_negative_rate": "selectivity specificity specificity_score TNR tnr",
    "fairness.true_positive_rate": (
        "detection_rate hit_rate_of_positives recall recall_score sensitivity "
        "sensitivity_score TPR tpr"
    ),
    "fairness.z_score_difference": "z_score_diff zscore_diff",
    "fairness.z_test_difference": "two_proportion_z_test z_test_diff",
    "ranking.aggregate_diversity": "aggregate_div",
    "ranking.average_popularity": (
        "arp average_recommendation_popularity avg_recommendation_popularity AvgRecPopularity "
        "popularity_bias"
    ),
    "ranking.awrf": "attention_weighted_rank_fairness AWRF",
    "ranking.compare_conventions": "OfflineMetrics",
    "ranking.coverage": "catalog_coverage CatalogCoverage Coverage item_coverage",
    "ranking.ctr": "click_through_rate CTR",
    "ranking.ctr_dr": "doubly_robust dr",
    "ranking.ctr_ips": "inverse_propensity ips",
    "ranking.ctr_snips": "snips",
    "ranking.dcg": "DCG dcg_at_k dcg_score discounted_cumulative_gain",
    "ranking.err": "ERR expected_reciprocal_rank",
    "ranking.exposure_parity": "exposure_difference group_exposure_gap",
    "ranking.exposure_ratio": "exposure_disparity",
    "ranking.exposure_total_variation": "exposure_l1",
    "ranking.f1": "F1Beta set_F SetF",
    "ranking.gini": "gini_index",
    "ranking.hit_rate": "hit hit_at_k hit_ratio HitRate hits hr Success success",
    "ranking.inter_list_diversity": "InterListDiversity personalisation personalization",
    "ranking.intra_list_diversity": "diversity ild intra_list_similarity IntraListDiversity",
    "ranking.long_tail_share": "aplt long_tail",
    "ranking.mad": "mad_score",
    "ranking.map": (
        "AP average_precision_at_k label_ranking_average_precision_score MAP mAP map_at_k "
        "map_cut mean_average_precision meanAveragePrecision"
    ),
    "ranking.mrr": "mean_reciprocal_rank MRR mrr_at_k recip_rank reciprocal_rank RR",
    "ranking.ndcg": (
        "NDCG nDCG ndcg_at_k ndcg_cut ndcg_score ndcgAtK normalized_discounted_cumulative_gain"
    ),
    "ranking.ndkl": "NDKL",
    "ranking.novelty": "mean_self_information Novelty self_information",
    "ranking.per_user": "per_query PerUser",
    "ranking.precision": "P Precision precision_at_k precisionAtK set_P",
    "ranking.r_precision": "RPrec Rprec rprec",
    "ranking.rbp": "rank_biased_precision RBP",
    "ranking.recall": "R Recall recall_at_k recallAtK set_recall",
    "ranking.serendipity": "Serendipity",
    "ranking.surprisal": "MeanInvUserFreq MIUF miuf Surprisal",
    "ranking.user_auc": "GAUC gauc group_auc grouped_auc per_user_auc uauc",
    "clustering.adjusted_mutual_information": "adjusted_mutual_info_score AMI ami",
    "clustering.adjusted_rand": "adjusted_rand_index adjusted_rand_score ARI ari",
    "clustering.ball_hall": "ball_hall_index",
    "clustering.calinski_harabasz": "calinski_harabasz_score ch_index variance_ratio",
    "clustering.choose_k": "elbow elbow_method k_selection optimal_k",
    "clustering.completeness": "completeness_score",
    "clustering.contingency": "contingency_matrix",
    "clustering.davies_bouldin": "davies_bouldin_score db_index dbi",
    "clustering.dunn": "dunn_index",
    "clustering.f_measure": "clustering_f1",
    "clustering.fowlkes_mallows": "fmi fowlkes_mallows_score",
    "clustering.gap": "gap_statistic",
    "clustering.homogeneity": "homogeneity_score",
    "clustering.hopkins": "cluster_tendency hopkins_statistic",
    "clustering.jaccard": "jaccard_index pair_jaccard",
    "clustering.matching": "hungarian_matching linear_sum_assignment optimal_assignment",
    "clustering.maximum_matching": (
        "cluster_accuracy clustering_accuracy hungarian_accuracy unsupervised_accuracy"
    ),
    "clustering.mutual_information": "mi mutual_info_score",
    "clustering.nmi": "NMI normalized_mutual_info_score normalized_mutual_information",
    "clustering.pair_counts": "pair_confusion_matrix",
    "clustering.pair_f1": "pair_f_score pairwise_f1 pairwise_f_measure",
    "clustering.purity": "purity_score",
    "clustering.rand": "rand_index rand_score ri",
    "clustering.silhouette": "ClusteringEvaluator silhouette_coefficient silhouette_score",
    "clustering.v_measure": "v_measure_score",
    "clustering.variation_of_information": "vi voi",
    "clustering.xie_beni": "XB xb xie_beni_index",
}
"""Every name of ours, with its family, and names for it elsewhere, separated by blanks."""

HINTS: Mapping[str, str] = {
    "accuracy_ratio": "the Gini coefficient of scores",
    "davies_bouldin_score": 'scikit-learn\'s is `dispersion="mean"`',
    "eo_difference": "the larger of the gaps in true and false positive rate",
    "equal_odds": "the larger of the gaps in true and false positive rate",
    "equalized_odds_difference": "the larger of the gaps in true and false positive rate",
    "error_rate": "an error rate is 1 - accuracy",
    "hamming_loss": "it is 1 - accuracy",
    "intra_list_similarity": "for cosine distances it is 1 - diversity",
    "mean_squared_error": "it is the square of it",
    "MeanInvUserFreq": "with `normalized=False`",
    "miuf": "with `normalized=False`",
    "mse": "it is the square of it",
    "ndcg_score": "see its `gain` and `convention`",
    "normalized_mutual_info_score": 'scikit-learn\'s default is `average="arithmetic"`',
    "ppr": "Aequitas' ppr is another quantity, the share of all selected",
    "precision_matrix": "HolisticAI's precision_matrix holds recalls",
    "recall_matrix": "HolisticAI's recall_matrix holds precisions",
    "zero_one_loss": "it is 1 - accuracy",
}
"""What else to know of a name elsewhere."""

KEYWORDS: Mapping[str, str] = {
    "group": (
        "attr facet groups membership memberships p_attr prot_attr protected "
        "protected_attribute protected_attributes sensitive sensitive_attribute "
        "sensitive_feature sensitive_features"
    ),
    "label": (
        "actual_label ground_truth label_value labels labels_true target truth y y_test y_true"
    ),
    "pred": "decision decisions predicted prediction predictions preds y_hat y_pred yhat",
    "score": "prob proba probability scores y_prob y_proba y_score",
    "weight": "sample_weight sample_weights weightCol weights",
    "by": "control_features slice slices",
    "strata": "group_variable",
    "ref": (
        "baseline priv_group privileged privileged_group privileged_groups ref_group "
        "ref_groups_dict reference reference_group"
    ),
    "user": "query query_id uid user_column user_id user_id_column users_id",
    "item": "doc_id iid item_id item_id_column",
    "k": "cutoff top_k topk",
    "average": "average_method",
    "features": "X",
    "cluster": "assignment cluster_label clusters_pred labels_pred",
    "actual": "interactions qrels",
    "recs": "reco recommendations run",
    "relevance": "gain_column grade rating",
}
"""Roles, options and frames, and what keywords elsewhere are called."""


@functools.cache
def also_known_as(name: str) -> tuple[str, ...]:
    """Return what one of our names, such as ``fairness.f1``, is called elsewhere."""
    return tuple(NAMES.get(name, "").split())


def ours(text: str) -> tuple[str, ...]:
    """Return what a name from elsewhere is called here, such as ``fairness.f1``."""
    exact, folded = _inverted()
    return exact.get(text) or folded.get(fold(text), ())


def hint(text: str) -> str:
    """Return what else to know of a name from elsewhere."""
    return HINTS.get(text) or _folded_hints().get(fold(text), "")


def keyword(text: str) -> str | None:
    """Return the role or option that a keyword elsewhere means here."""
    return _keywords().get(fold(text))


def fold(name: str) -> str:
    """Return a name without what spellings differ in: case, underscores and hyphens."""
    return name.replace("_", "").replace("-", "").lower()


@functools.cache
def _inverted() -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Return our names by every name elsewhere, as it is written and folded."""
    exact: dict[str, tuple[str, ...]] = {}
    folded: dict[str, tuple[str, ...]] = {}
    for own, names in NAMES.items():
        for name in names.split():
            exact[name] = (*exact.get(name, ()), own)
            known = folded.get(fold(name), ())
            folded[fold(name)] = known if own in known else (*known, own)
    return exact, folded


@functools.cache
def _folded_hints() -> dict[str, str]:
    return {fold(name): text for name, text in HINTS.items()}


@functools.cache
def _keywords() -> dict[str, str]:
    return {fold(name): own for own, names in KEYWORDS.items() for name in names.split()}
