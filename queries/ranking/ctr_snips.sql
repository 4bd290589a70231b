-- Self-normalised inverse propensity scores: the mean outcome of the matches, weighted by one over
-- the propensity.
-- views: _matches.sql
-- n of: shown
-- n: value IS NOT NULL
-- n each: probability
SELECT slice, sum(probability * weight * value) / nullif(sum(probability * weight), 0) AS value
FROM shown
GROUP BY slice
