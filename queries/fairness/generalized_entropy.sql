-- Generalised entropy index of the benefits: the weighted mean over rows of a convex function of the
-- benefit over the mean benefit. inf for alpha <= 0 where a benefit is 0; undefined where the mean benefit
-- is 0.
-- views: _groups.sql
-- views: _decisions.sql
-- n: coalesce(pred::DOUBLE, score) IS NOT NULL AND label IS NOT NULL
SELECT slice, sum(w * entropy_term(b / mean, coalesce(getvariable('alpha'), 2)::DOUBLE)) / sum(w) AS value
FROM benefits
GROUP BY slice
