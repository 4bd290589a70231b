-- The part of the generalised entropy index within groups, over rows of known group: the indices of the
-- groups, weighted by n_g / n times (mean_g / mean) to the power alpha. Here it is summed over rows. It is
-- 0 for a group whose benefits are all 0. For alpha <= 0 it is inf where a benefit of another group is 0.
-- views: _groups.sql
-- views: _decisions.sql
-- n: coalesce(pred::DOUBLE, score) IS NOT NULL AND label IS NOT NULL AND "group" IS NOT NULL
WITH terms AS (
    SELECT slice, w, coalesce(getvariable('alpha'), 2)::DOUBLE AS alpha,
           CASE WHEN group_mean = 0 THEN 0
                ELSE pow(group_mean / mean, alpha) * entropy_term(b / group_mean, alpha) END AS term
    FROM group_benefits
)
SELECT slice, sum(w * term) / sum(w) AS value
FROM terms
GROUP BY slice
