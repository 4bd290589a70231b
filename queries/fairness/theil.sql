-- Theil index of the benefits: the weighted mean over rows of x ln x, where x is the benefit over the mean
-- benefit. Undefined where that mean is 0.
-- views: _groups.sql
-- views: _decisions.sql
-- n: coalesce(pred::DOUBLE, score) IS NOT NULL AND label IS NOT NULL
SELECT slice, sum(w * CASE WHEN b = 0 THEN 0 ELSE b / mean * ln(b / mean) END) / sum(w) AS value
FROM benefits
GROUP BY slice
