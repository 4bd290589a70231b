-- Effective size: the squared sum of the weights of the matches, one over the propensity, over the
-- sum of the squared weights.
-- views: _matches.sql
-- n of: shown
-- n: value IS NOT NULL
-- n each: probability
SELECT slice,
       pow(sum(probability * weight), 2) / nullif(sum(probability * pow(weight, 2)), 0) AS value
FROM shown
GROUP BY slice
