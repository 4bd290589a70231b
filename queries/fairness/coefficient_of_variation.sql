-- Coefficient of variation of the benefits: their population standard deviation over their mean. Undefined
-- where the mean is 0.
-- views: _groups.sql
-- views: _decisions.sql
-- n: coalesce(pred::DOUBLE, score) IS NOT NULL AND label IS NOT NULL
SELECT slice, sqrt(sum(w * (b - mean) * (b - mean)) / sum(w)) / any_value(mean) AS value
FROM benefits
GROUP BY slice
