-- Doubly robust: the mean over the recommendations of the predicted outcome, plus (outcome -
-- predicted) / propensity where these are known.
-- views: _matches.sql
-- n of: shown
-- n: predicted IS NOT NULL
-- n each: probability
SELECT slice,
       sum(probability * (predicted + coalesce((value - predicted) * weight, 0)))
       / nullif(sum(probability) FILTER (predicted IS NOT NULL), 0) AS value
FROM shown
GROUP BY slice
