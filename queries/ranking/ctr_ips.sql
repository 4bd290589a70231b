-- Inverse propensity scores: the mean over all recommendations among the first k of outcome over
-- propensity, 0 where one of the two is not known.
-- views: _matches.sql
-- n of: shown
-- n: "user" IS NOT NULL
-- n each: probability
SELECT slice,
       sum(probability * CASE WHEN value <> 0 THEN coalesce(value * weight, 0) ELSE 0 END)
       / nullif(sum(probability), 0) AS value
FROM shown
GROUP BY slice
